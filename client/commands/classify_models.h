// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_CLASSIFY_MODELS_H_
#define VITRINE_CLIENT_COMMANDS_CLASSIFY_MODELS_H_

#include <ostream>

#include "absl/status/statusor.h"
#include "client/commands/classify_command.h"

namespace vitrine {

// `vitrine classify --models A,B`: classifies every image with each of command.models and, once all have answered,
// writes a row for each model below the image, or one JSON line each. If command.models_sheet is set, also writes a
// comparison (models_sheet.h): an HTML page if the name ends in .html, else a PNG. Output and errors are those of
// RunClassify; returns the number of images without an answer from every model; `errors` names each once.
absl::StatusOr<int> RunClassifyModels(const ClassifyCommand& command, const Page& page, std::ostream& out,
                                      std::ostream& errors);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_CLASSIFY_MODELS_H_
