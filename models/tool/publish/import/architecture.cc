// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/architecture.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "models/repository/foreign/import.h"
#include "models/tool/publish/import/json_members.h"

namespace vitrine {
namespace {

using Json = nlohmann::json;

std::string SizesInWords(double width, double depth, double patch, const Side& image) {
  return absl::StrCat("hidden_size ", width, ", num_hidden_layers ", depth, ", patch_size ", patch, ", image_size ",
                      InWords(image));
}

// Returns the name of the supported architecture of the library transformers whose type, sizes and activation are those
// in config.json.
absl::StatusOr<std::string> TransformersArch(const ModelFile& file, const Json& whole) {
  const std::string type = TypeIn(whole);
  const bool quick = ActivationIn(whole) == "quick_gelu";
  const Json& json = VisionOf(whole);
  // A size that is missing in config.json has transformers' default value.
  const Side side = SideIn(json, "image_size");
  const double width = NumberIn(json, "hidden_size").value_or(768);
  const std::string sizes = SizesInWords(width, NumberIn(json, "num_hidden_layers").value_or(12),
                                         NumberIn(json, "patch_size").value_or(type == "clip" ? 32 : 16),
                                         side == Side{} ? Side{224, 224} : side);
  std::vector<std::string> similar;
  for (const std::string& arch : ForeignArchs(ForeignSource::kHuggingFace)) {
    ASSIGN_OR_RETURN(const v1::ModelConfig config, ForeignConfig(ForeignSource::kHuggingFace, arch, /*classes=*/1));
    const v1::VitConfig& vit = config.vit();
    const v1::FixedResolution& fixed = config.preprocessing().fixed();
    // DINOv2's image_size is the size of the position table, not of the images.
    const Side wanted = type.starts_with("dinov2") && side != Side{}
                            ? side
                            : Side{static_cast<double>(fixed.height()), static_cast<double>(fixed.width())};
    if (type == TransformersType(config) && width == vit.width()) similar.push_back(arch);
    if (type == TransformersType(config) && quick == (vit.activation() == v1::VitConfig::QUICK_GELU) &&
        sizes == SizesInWords(vit.width(), vit.depth(), vit.patch(), wanted)) {
      return arch;
    }
  }
  return absl::FailedPreconditionError(
      absl::StrCat(file.name, " describes a ", absl::CHexEscape(type), " of transformers with ", sizes,
                   ", which is not supported", similar.empty() ? "" : "; similar are ", absl::StrJoin(similar, ", "),
                   "; `vitrine-repo import --help` lists the supported architectures"));
}

}  // namespace

absl::StatusOr<std::string> OpenClipArch(const std::string& file, const Json& json) {
  const auto refused = [&](const std::string& fault) {
    return absl::FailedPreconditionError(absl::StrCat(file, " describes a model of OpenCLIP ", fault,
                                                      ", which is not supported; `vitrine-repo import --help` lists ",
                                                      "the supported architectures"));
  };
  const Json& model = json.at(kOpenClipModel);
  const auto found = model.find("vision_cfg");
  if (found == model.end() || !found->is_object()) return refused("without vision_cfg");
  const Json& vision = *found;
  if (const std::string timm = TextIn(vision, "timm_model_name"); !timm.empty()) {
    return refused(absl::StrCat("with timm's image tower ", absl::CHexEscape(timm), " (timm_model_name)"));
  }
  // kIgnored: settings that do not affect the class token's output. `defaults`: the supported values of other settings.
  constexpr std::string_view kIgnored[] = {"image_size",          "patch_dropout",       "output_tokens",
                                           "final_ln_after_pool", "attn_pooler_queries", "attn_pooler_heads"};
  const Json defaults = {{"head_width", 64}, {"mlp_ratio", 4}, {"pool_type", "tok"}, {"pos_embed_type", "learnable"}};
  for (const auto& [name, value] : vision.items()) {
    const bool is_size = (name == "width" || name == "layers" || name == "patch_size") && value.is_number();
    if (is_size || value.is_null() || value == false || name.starts_with("timm_") ||
        std::find(std::begin(kIgnored), std::end(kIgnored), name) != std::end(kIgnored) ||
        (defaults.contains(name) && defaults[name] == value)) {
      continue;
    }
    return refused(absl::StrCat("with vision_cfg.", absl::CHexEscape(name), " ", value.dump(-1, ' ', true)));
  }
  const auto words = [](double width, double layers, double patch, const Side& image, double outputs) {
    return absl::StrCat("width ", width, ", layers ", layers, ", patch_size ", patch, ", image_size ", InWords(image),
                        ", embed_dim ", outputs);
  };
  const Side side = SideIn(vision, "image_size");
  const std::string sizes = words(NumberIn(vision, "width").value_or(768), NumberIn(vision, "layers").value_or(12),
                                  NumberIn(vision, "patch_size").value_or(16), side == Side{} ? Side{224, 224} : side,
                                  NumberIn(model, "embed_dim").value_or(0));
  const auto quick = model.find("quick_gelu");
  if (quick != model.end() && !quick->is_boolean() && !quick->is_null()) {
    return refused(absl::StrCat("with quick_gelu ", quick->dump(-1, ' ', true)));
  }
  for (const std::string& arch : ForeignArchs(ForeignSource::kOpenClip)) {
    ASSIGN_OR_RETURN(const v1::ModelConfig config, ForeignConfig(ForeignSource::kOpenClip, arch, /*classes=*/1));
    const v1::VitConfig& vit = config.vit();
    const v1::FixedResolution& fixed = config.preprocessing().fixed();
    const Side wanted = {static_cast<double>(fixed.height()), static_cast<double>(fixed.width())};
    if ((quick != model.end() && *quick == true) == (vit.activation() == v1::VitConfig::QUICK_GELU) &&
        sizes == words(vit.width(), vit.depth(), vit.patch(), wanted, vit.projection())) {
      return arch;
    }
  }
  return refused(absl::StrCat("with ", sizes));
}

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
    if (arch.empty() && json.contains(kOpenClipModel)) {
      source = "openclip";
      ASSIGN_OR_RETURN(arch, OpenClipArch(file.name, json));
    }
    if (arch.empty()) continue;
    // The tag of CLIP weights in timm shows whether the model has a projection or classes.
    const auto cfg = json.find("pretrained_cfg");
    if (source == "timm" && arch.find("_clip_") != std::string::npos && cfg != json.end() && cfg->is_object()) {
      const std::string tag = TextIn(*cfg, "tag");
      if (!tag.empty()) absl::StrAppend(&arch, ".", tag);
    }
    if (options.source.empty()) options.source = source;
    if (options.arch.empty()) options.arch = arch;
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "no ", kConfigFile, " describes the architecture (timm: architecture; transformers: model_type), and no ",
      kOpenClipConfigFile, " does (model_cfg); give `vitrine-repo import` --from and --arch"));
}

}  // namespace vitrine
