// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMPORT_ARCHITECTURE_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMPORT_ARCHITECTURE_H_

#include <vector>

#include "absl/status/status.h"
#include "models/tool/publish/import/import.h"
#include "models/tool/publish/import/model_files.h"

namespace vitrine {

// Sets --from and --arch, if they are not set, from the first file that describes an architecture: `architecture` in a
// config.json of timm; `model_type` and the sizes in a config.json of transformers. FAILED_PRECONDITION: no file
// describes one, or the model is not supported; the message names the file and says what to do. DATA_LOSS: a file is
// not JSON.
absl::Status TakeArchitecture(const std::vector<ModelFile>& files, ImportOptions& options);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMPORT_ARCHITECTURE_H_
