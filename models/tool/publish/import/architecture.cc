// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/architecture.h"

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "models/repository/import/import.h"
#include "models/tool/publish/import/json_members.h"

namespace vitrine {
namespace {

using Json = nlohmann::json;

// Returns the known architecture of transformers with the sizes in its config.json.
absl::StatusOr<std::string> TransformersArch(const ModelFile& file, const Json& config_json) {
  const std::string type = TypeIn(config_json);
  const bool quick = ActivationIn(config_json) == "quick_gelu";
  const Json& json = VisionOf(config_json);
  for (const std::string& arch : ForeignArchs(ForeignSource::kHuggingFace)) {
    ASSIGN_OR_RETURN(const v1::ModelConfig config, ForeignConfig(ForeignSource::kHuggingFace, arch, /*classes=*/1));
    const v1::VitConfig& vit = config.vit();
    // Missing sizes are transformers' defaults.
    if (type == TransformersType(config) && vit.width() == NumberIn(json, "hidden_size").value_or(768) &&
        vit.depth() == NumberIn(json, "num_hidden_layers").value_or(12) &&
        vit.patch() == NumberIn(json, "patch_size").value_or(type == "clip" ? 32 : 16) &&
        quick == (vit.activation() == v1::VitConfig::QUICK_GELU) &&
        // DINOv2's image_size is that of the position table.
        (type.starts_with("dinov2") ||
         config.preprocessing().fixed().height() == NumberIn(json, "image_size").value_or(224))) {
      return arch;
    }
  }
  std::string sizes;
  for (const char* member : {"hidden_size", "num_hidden_layers", "patch_size", "image_size"}) {
    absl::StrAppend(&sizes, sizes.empty() ? "" : ", ", member, " ", NumberIn(json, member).value_or(0));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      file.name, " describes a ", absl::CHexEscape(type), " of transformers with ", sizes,
      ", which is not supported; supported are ", absl::StrJoin(ForeignArchs(ForeignSource::kHuggingFace), ", ")));
}

}  // namespace

absl::Status TakeArchitecture(const std::vector<ModelFile>& files, ImportOptions& options) {
  if (!options.source.empty() && !options.arch.empty()) return absl::OkStatus();
  for (const ModelFile& file : files) {
    const Json json = Json::parse(file.json, /*cb=*/nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) return absl::DataLossError(absl::StrCat(file.name, ": it is not JSON"));
    if (!json.is_object()) continue;
    std::string source = "timm", arch = TextIn(json, "architecture");
    if (arch.empty() && !TextIn(json, "model_type").empty()) {
      source = "huggingface";
      ASSIGN_OR_RETURN(arch, TransformersArch(file, json));
    }
    if (arch.empty()) continue;
    // timm's tag of CLIP's weights says whether they have a projection or classes.
    const auto cfg = json.find("pretrained_cfg");
    if (source == "timm" && arch.find("_clip_") != std::string::npos && cfg != json.end() && cfg->is_object()) {
      const std::string tag = TextIn(*cfg, "tag");
      if (!tag.empty()) absl::StrAppend(&arch, ".", tag);
    }
    if (options.source.empty()) options.source = source;
    if (options.arch.empty()) options.arch = arch;
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("no ", kConfigFile,
                   " describes the architecture (timm: architecture; transformers: model_type); "
                   "give `vitrine-repo import` --from and --arch"));
}

}  // namespace vitrine
