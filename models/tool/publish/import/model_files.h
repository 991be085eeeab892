// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMPORT_MODEL_FILES_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMPORT_MODEL_FILES_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/tool/publish/import/import.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

inline constexpr char kConfigFile[] = "config.json";                     // file of timm and of transformers
inline constexpr char kPreprocessorFile[] = "preprocessor_config.json";  // file of transformers
inline constexpr char kOpenClipConfigFile[] = "open_clip_config.json";   // file of OpenCLIP

// A JSON file that describes a model: config.json, preprocessor_config.json, open_clip_config.json, or a file with
// labels.
struct ModelFile {
  std::string name;  // name in messages
  std::string json;
};

// Returns true if the folder has a config.json or an open_clip_config.json.
bool HasConfig(const std::filesystem::path& folder);

// Reads the files that describe the model of a local import: the config.json of --labels, and either
// open_clip_config.json or config.json and preprocessor_config.json from the folder of the weights.
// open_clip_config.json is read if the weights are OpenCLIP's, or if there is no config.json. Ignores missing files.
// Returns errors of ReadWholeFile, except for the file of --labels, whose errors TakeLabels returns.
absl::StatusOr<std::vector<ModelFile>> FilesOfModel(const ImportOptions& options);

// Checks that the model in the files is the model of --from and --arch. Then sets every preprocessing option that is
// not set to the value in the first file that states it. If an option is set, the values in the files are neither used
// nor checked. Returns sentences about the values used, and about an activation that the user should check.
// FAILED_PRECONDITION names the file and what is not supported: another architecture or image size, statistics outside
// their range, or a way of scaling that --interpolation and --fit do not have. DATA_LOSS: the file is not JSON.
absl::StatusOr<std::vector<std::string>> TakePreprocessing(const std::vector<ModelFile>& files, ImportOptions& options);

// Returns the `model_type` of transformers for a model of --from huggingface: "vit", "deit", "clip",
// "dinov2" or "dinov2_with_registers".
std::string TransformersType(const v1::ModelConfig& config);

// Return "" for a value that --mean, --std or --crop accepts; otherwise the error.
std::string FaultOfMean(double mean);
std::string FaultOfStd(double std);
std::string FaultOfCrop(double crop);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMPORT_MODEL_FILES_H_
