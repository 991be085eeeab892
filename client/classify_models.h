// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_CLASSIFY_MODELS_H_
#define VITRINE_CLIENT_CLASSIFY_MODELS_H_

#include <ostream>

#include "absl/status/statusor.h"
#include "client/classify_command.h"

namespace vitrine {

// `vitrine classify --models A,B`: asks each of command.models about every picture and writes a row for each model
// below a picture, or a JSON line each, once all have answered; and where command.models_sheet names a file, what they
// saw beside each other (models_sheet.h), a page where it ends in .html and a PNG else. Answers are as RunClassify's:
// returns of how many pictures not every model had an answer, which `errors` names once each.
absl::StatusOr<int> RunClassifyModels(const ClassifyCommand& command, const Page& page, std::ostream& out,
                                      std::ostream& errors);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_CLASSIFY_MODELS_H_
