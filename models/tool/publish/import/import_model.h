// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMPORT_IMPORT_MODEL_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMPORT_IMPORT_MODEL_H_

#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/repository/foreign/import.h"
#include "models/tool/publish/import/import.h"
#include "models/tool/publish/import/model_files.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Input of an import: weights that were read or downloaded, and the model's own labels.
struct ImportInput {
  std::string weights;                               // name of the weights in messages
  TensorMap tensors = {};                            // without data if only the headers were read
  std::map<std::string, std::string> metadata = {};  // metadata of the file or its shards
  std::vector<std::string> labels = {};              // empty: no labels
  std::string labels_from = {};                      // name of the labels' source in messages
  std::ostream* notes = &std::cerr;                  // for lines about what is ignored or replaced
};

// Sets the labels of `given` to the labels of the command line, otherwise to the labels in the model's files, if there
// are any.
absl::Status TakeLabels(const ImportOptions& options, const std::vector<ModelFile>& files, ImportInput& given);

// Returns the config of the model, which RenameForeign will compare with the tensors. Removes the prefixes that
// training wrappers added to the tensors' names, and replaces missing labels by ImageNet's. Reads no data of tensors.
// FAILED_PRECONDITION: there is no head, or the number of its classes is not the number of labels.
absl::StatusOr<v1::ModelConfig> TakeModel(const ImportOptions& options, ImportInput& given);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMPORT_IMPORT_MODEL_H_
