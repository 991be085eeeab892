// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMPORT_SURVEY_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMPORT_SURVEY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace vitrine {

struct SurveyOptions {
  // "hf:ORG/NAME[@REVISION]", folders of a model, folders of such folders, or text files with one of these per line.
  std::vector<std::string> models = {};
  bool json = false;  // one JSON array instead of a table
};

// Prints for each model whether it can be imported and served, and if not, why. Reads config.json,
// preprocessor_config.json and the headers of model.safetensors or its shards, without downloading the weights. Makes
// the same checks as an import: architecture, preprocessing, labels, size of the files, names, types and shapes of
// tensors. An import may still fail because of the values of the weights. Returns an error only if the arguments name
// no model.
absl::Status SurveyCommand(const SurveyOptions& options);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMPORT_SURVEY_H_
