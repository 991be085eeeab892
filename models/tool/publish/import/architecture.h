// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMPORT_ARCHITECTURE_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMPORT_ARCHITECTURE_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/tool/publish/import/import.h"
#include "models/tool/publish/import/model_files.h"

namespace vitrine {

// Sets --from and --arch, if they are not set, from the first file that describes an architecture: `architecture` in a
// config.json of timm; `model_type` and the sizes in a config.json of transformers; the sizes and quick_gelu in an
// open_clip_config.json. FAILED_PRECONDITION: no file describes an architecture, or the model is not supported; the
// message names the file and says what to do. DATA_LOSS: a file is not JSON.
absl::Status TakeArchitecture(const std::vector<ModelFile>& files, ImportOptions& options);

inline constexpr char kOpenClipModel[] = "model_cfg";  // member that only OpenCLIP's files have

// Returns OpenCLIP's name of the model in an open_clip_config.json, a file that has the member kOpenClipModel.
// FAILED_PRECONDITION: its image tower is not supported; the message names `file` and the setting.
absl::StatusOr<std::string> OpenClipArch(const std::string& file, const nlohmann::json& json);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMPORT_ARCHITECTURE_H_
