// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_CLASSIFY_MODELS_H_
#define VITRINE_CLIENT_COMMANDS_CLASSIFY_MODELS_H_

#include <ostream>

#include "absl/status/statusor.h"
#include "client/commands/classify_command.h"

namespace vitrine {

// Runs `vitrine classify --models A,B`, which classifies every image with each of command.models. After the last
// answer, writes a row for each image and model to `out`, or JSON lines. If command.models_sheet is set, also writes a
// comparison (models_sheet.h): an HTML page if the name ends in .html, else a PNG. Writes a line to `errors` for each
// failed image; equal lines are written once. Returns the number of images that at least one model did not answer.
absl::StatusOr<int> RunClassifyModels(const ClassifyCommand& command, const Page& page, std::ostream& out,
                                      std::ostream& errors);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_CLASSIFY_MODELS_H_
