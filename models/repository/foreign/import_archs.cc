// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/nearest.h"
#include "models/repository/files/text.h"
#include "models/repository/foreign/import.h"

namespace vitrine {
namespace {

using Triple = float[3];
constexpr Triple kHalf = {0.5F, 0.5F, 0.5F};
constexpr Triple kImageNetMean = {0.485F, 0.456F, 0.406F};
constexpr Triple kImageNetStd = {0.229F, 0.224F, 0.225F};
constexpr Triple kClipMean = {0.48145466F, 0.4578275F, 0.40821073F};
constexpr Triple kClipStd = {0.26862954F, 0.26130258F, 0.27577711F};

// A model's name in the source library, and the config that the library uses for this name.
struct Arch {
  std::string name;
  v1::ModelConfig config;
};

v1::ModelConfig Input(int side, const Triple& mean, const Triple& std, v1::Interpolation interpolation,
                      v1::FixedResolution::Fit fit, double crop) {
  v1::ModelConfig config;
  v1::Preprocessing& preprocessing = *config.mutable_preprocessing();
  preprocessing.set_channels(3);
  preprocessing.mutable_mean()->Assign(mean, mean + 3);
  preprocessing.mutable_std()->Assign(std, std + 3);
  preprocessing.set_interpolation(interpolation);
  preprocessing.set_rounding(v1::Preprocessing::PILLOW);
  v1::FixedResolution& fixed = *preprocessing.mutable_fixed();
  fixed.set_height(side);
  fixed.set_width(side);
  fixed.set_fit(fit);
  if (crop != 1) fixed.set_crop(crop);
  return config;
}

struct VitSize {
  const char* name;
  int width, depth, heads;
};
constexpr VitSize kVitSizes[] = {{"tiny", 192, 12, 3},
                                 {"small", 384, 12, 6},
                                 {"base", 768, 12, 12},
                                 {"large", 1024, 24, 16},
                                 {"huge", 1280, 32, 16}};

void SetVit(const VitSize& size, int patch, v1::ModelConfig& config) {
  const int side = config.preprocessing().fixed().height() / patch;
  v1::VitConfig& vit = *config.mutable_vit();
  vit.set_patch(patch);
  vit.set_width(size.width);
  vit.set_depth(size.depth);
  vit.set_heads(size.heads);
  vit.set_mlp_width(4 * size.width);
  vit.set_grid_rows(side);
  vit.set_grid_columns(side);
}

// Size of a published model, and the sides of its patches and images in pixels.
struct Published {
  const char* size;
  int patch;
  int side;
};
constexpr Published kTimmVits[] = {{"tiny", 16, 224},  {"tiny", 16, 384},  {"small", 16, 224}, {"small", 16, 384},
                                   {"small", 32, 224}, {"small", 32, 384}, {"small", 8, 224},  {"base", 8, 224},
                                   {"base", 16, 224},  {"base", 16, 384},  {"base", 32, 224},  {"base", 32, 384},
                                   {"large", 16, 224}, {"large", 16, 384}, {"large", 32, 224}, {"large", 32, 384},
                                   {"huge", 14, 224}};
constexpr Published kDeits[] = {{"tiny", 16, 224}, {"small", 16, 224}, {"base", 16, 224}, {"base", 16, 384}};
constexpr Published kDinov2s[] = {{"small", 14, 518}, {"base", 14, 518}, {"large", 14, 518}};
constexpr Published kHuggingFaceVits[] = {
    {"small", 8, 224},  {"base", 8, 224},   {"tiny", 16, 224}, {"small", 16, 224}, {"base", 16, 224},
    {"base", 16, 384},  {"base", 32, 224},  {"base", 32, 384}, {"large", 16, 224}, {"large", 16, 384},
    {"large", 32, 224}, {"large", 32, 384}, {"huge", 14, 224}};

const VitSize& SizeNamed(std::string_view name) {
  return *std::find_if(std::begin(kVitSizes), std::end(kVitSizes),
                       [&](const VitSize& size) { return size.name == name; });
}

// Returns timm's crop_pct for ViT: 0.9 for images of 224 pixels; 1, the whole image, for larger images.
double TimmVitCrop(int side) {
  return side == 224 ? 0.9 : 1;
}

// timm/models/xcit.py: LayerScale starts at 1 in models of 12 blocks, and at 1e-5 in models of 24 blocks. In the
// class-attention blocks of the nano models, the second norm is applied to the class token only.
struct XcitSize {
  const char* name;
  int width, depth, heads;
  bool tokens_norm;
};
constexpr XcitSize kXcitSizes[] = {{"nano_12", 128, 12, 4, false}, {"tiny_12", 192, 12, 4, true},
                                   {"tiny_24", 192, 24, 4, true},  {"small_12", 384, 12, 8, true},
                                   {"small_24", 384, 24, 8, true}, {"medium_24", 512, 24, 8, true},
                                   {"large_24", 768, 24, 16, true}};

v1::ModelConfig Xcit(const XcitSize& size, int patch, int side) {
  v1::ModelConfig config =
      Input(side, kImageNetMean, kImageNetStd, v1::BICUBIC, v1::FixedResolution::CENTER_CROP, /*crop=*/1);
  v1::XcitConfig& xcit = *config.mutable_xcit();
  xcit.set_patch(patch);
  xcit.set_width(size.width);
  xcit.set_depth(size.depth);
  xcit.set_class_depth(2);
  xcit.set_heads(size.heads);
  xcit.set_mlp_width(4 * size.width);
  xcit.set_tokens_norm(size.tokens_norm);
  xcit.set_layer_scale(size.depth == 12 ? 1 : 1e-5F);
  return config;
}

// Fills in the config of DINOv2, which has no head. Its position table has 37 x 37 patches for any input size.
void SetDinov2(const Published& published, int registers, v1::ModelConfig& config) {
  v1::VitConfig& vit = *config.mutable_vit();
  SetVit(SizeNamed(published.size), published.patch, config);
  vit.set_grid_rows(published.side / published.patch);
  vit.set_grid_columns(published.side / published.patch);
  vit.set_registers(registers);
  vit.set_layer_scale(1e-5F);
}

// A published image tower of CLIP. Its output vectors have `projection` channels.
struct ClipSize {
  const char* size;
  const char* letter;  // width of the model in OpenCLIP's names
  int patch, projection;
};
constexpr ClipSize kClips[] = {{"base", "B", 16, 512}, {"base", "B", 32, 512}, {"large", "L", 14, 768}};

v1::ModelConfig Clip(const ClipSize& clip, bool quick) {
  v1::ModelConfig config = Input(224, kClipMean, kClipStd, v1::BICUBIC, v1::FixedResolution::CENTER_CROP, /*crop=*/1);
  SetVit(SizeNamed(clip.size), clip.patch, config);
  v1::VitConfig& vit = *config.mutable_vit();
  vit.set_input_norm(true);
  vit.set_norm_epsilon(1e-5F);
  vit.set_projection(clip.projection);
  if (quick) vit.set_activation(v1::VitConfig::QUICK_GELU);
  return config;
}

// Adds two models for each tower: one with the exact GELU and one with QuickGELU. `name` returns the name of a model.
void AddClips(std::string (*name)(const ClipSize& clip, bool quick), std::vector<Arch>& archs) {
  for (const ClipSize& clip : kClips) {
    for (const bool quick : {false, true}) archs.push_back({name(clip, quick), Clip(clip, quick)});
  }
}

void AddTimmPrefixed(std::vector<Arch>& archs) {
  const auto input = [](int side) {
    return Input(side, kImageNetMean, kImageNetStd, v1::BICUBIC, v1::FixedResolution::CENTER_CROP,
                 side == 224 ? 0.9 : 1);
  };
  for (const Published& published : kDeits) {
    v1::ModelConfig config = input(published.side);
    SetVit(SizeNamed(published.size), published.patch, config);
    config.mutable_vit()->set_distilled(true);
    archs.push_back({absl::StrCat("deit_", published.size, "_distilled_patch16_", published.side), std::move(config)});
  }
  for (const Published& published : kDinov2s) {
    for (const int registers : {0, 4}) {
      v1::ModelConfig config = input(published.side);
      SetDinov2(published, registers, config);
      if (registers > 0) config.mutable_vit()->set_prefix_positions(v1::VitConfig::NO_TOKEN);
      archs.push_back({absl::StrCat("vit_", published.size, registers > 0 ? "_patch14_reg4_dinov2" : "_patch14_dinov2"),
                       std::move(config)});
    }
  }
}

std::vector<Arch> TimmArchs() {
  std::vector<Arch> archs;
  const auto add_vit = [&](std::string_view prefix, const Published& published, const Triple& mean, const Triple& std) {
    v1::ModelConfig config =
        Input(published.side, mean, std, v1::BICUBIC, v1::FixedResolution::CENTER_CROP, TimmVitCrop(published.side));
    SetVit(SizeNamed(published.size), published.patch, config);
    archs.push_back({absl::StrCat(std::string(prefix), published.size, "_patch", published.patch, "_", published.side),
                     std::move(config)});
  };
  for (const Published& published : kTimmVits) add_vit("vit_", published, kHalf, kHalf);
  for (const Published& published : kDeits) add_vit("deit_", published, kImageNetMean, kImageNetStd);
  AddTimmPrefixed(archs);
  const size_t clips = archs.size();
  AddClips(
      [](const ClipSize& clip, bool quick) {
        return absl::StrCat("vit_", clip.size, "_patch", clip.patch, quick ? "_clip_quickgelu_224" : "_clip_224");
      },
      archs);
  for (size_t i = clips; i < archs.size(); ++i) {
    archs[i].config.mutable_preprocessing()->mutable_fixed()->set_crop(0.9);
  }
  for (const XcitSize& size : kXcitSizes) {
    for (const int patch : {16, 8}) {
      for (const int side : {224, 384}) {
        archs.push_back({absl::StrCat("xcit_", size.name, "_p", patch, "_", side), Xcit(size, patch, side)});
      }
    }
  }
  return archs;
}

// Adds DeiT and DINOv2. As in DeiTImageProcessor and BitImageProcessor, the shorter side is scaled to 256 pixels, and
// the central square of 224 pixels is cut out.
void AddHuggingFacePrefixed(std::vector<Arch>& archs) {
  const auto input = [](int side) {
    return Input(side, kImageNetMean, kImageNetStd, v1::BICUBIC, v1::FixedResolution::CENTER_CROP,
                 side == 224 ? 0.875 : 1);
  };
  for (const Published& published : kDeits) {
    v1::ModelConfig config = input(published.side);
    SetVit(SizeNamed(published.size), published.patch, config);
    config.mutable_vit()->set_distilled(true);
    config.mutable_vit()->set_norm_epsilon(1e-12F);
    config.mutable_vit()->set_position_resize(v1::VitConfig::BICUBIC_SHARP);
    archs.push_back({absl::StrCat("deit-", published.size, "-distilled-patch16-", published.side), std::move(config)});
  }
  for (const Published& published : kDinov2s) {
    for (const int registers : {0, 4}) {
      v1::ModelConfig config = input(224);
      SetDinov2(published, registers, config);
      if (registers == 0) config.mutable_vit()->set_position_resize(v1::VitConfig::BICUBIC_SHARP);
      archs.push_back(
          {absl::StrCat(registers > 0 ? "dinov2-with-registers-" : "dinov2-", published.size), std::move(config)});
    }
  }
}

// Returns the models of transformers. ViTImageProcessor stretches images to the model's size, with bilinear
// interpolation; ViTConfig has layer_norm_eps 1e-12.
std::vector<Arch> HuggingFaceArchs() {
  std::vector<Arch> archs;
  for (const Published& published : kHuggingFaceVits) {
    v1::ModelConfig config =
        Input(published.side, kHalf, kHalf, v1::BILINEAR, v1::FixedResolution::STRETCH, /*crop=*/1);
    SetVit(SizeNamed(published.size), published.patch, config);
    config.mutable_vit()->set_norm_epsilon(1e-12F);
    config.mutable_vit()->set_position_resize(v1::VitConfig::BICUBIC_SHARP);
    archs.push_back(
        {absl::StrCat("vit-", published.size, "-patch", published.patch, "-", published.side), std::move(config)});
  }
  AddHuggingFacePrefixed(archs);
  AddClips([](const ClipSize& clip,
              bool quick) { return absl::StrCat("clip-vit-", clip.size, "-patch", clip.patch, quick ? "" : "-gelu"); },
           archs);
  for (Arch& arch : archs) {
    if (arch.config.vit().input_norm()) arch.config.mutable_vit()->set_position_resize(v1::VitConfig::BICUBIC_SHARP);
  }
  return archs;
}

std::vector<Arch> OpenClipArchs() {
  std::vector<Arch> archs;
  AddClips([](const ClipSize& clip,
              bool quick) { return absl::StrCat("ViT-", clip.letter, "-", clip.patch, quick ? "-quickgelu" : ""); },
           archs);
  return archs;
}

const std::vector<Arch>& ArchsOf(ForeignSource source) {
  static const auto* const kTimm = new std::vector<Arch>(TimmArchs());
  static const auto* const kHuggingFace = new std::vector<Arch>(HuggingFaceArchs());
  static const auto* const kOpenClip = new std::vector<Arch>(OpenClipArchs());
  if (source == ForeignSource::kOpenClip) return *kOpenClip;
  return source == ForeignSource::kTimm ? *kTimm : *kHuggingFace;
}

// Returns true if timm's weights with this tag use the model and the preprocessing that ForeignConfig returns for the
// name without a tag. Weights with another tag, such as "dino", may use another mean and deviation.
bool IsKnownTag(std::string_view tag) {
  return tag.starts_with("augreg") || tag.starts_with("orig_") || tag.starts_with("sam_") || tag.starts_with("fb_") ||
         tag == "lvd142m";
}

// Sets the number of classes; 0 for DINOv2 and CLIP, which were published without a head. A tag with "_ft_" marks a
// CLIP tower that was fine-tuned for classes; it has a head instead of the projection.
void SetClasses(std::string_view tag, int classes, v1::ModelConfig& config) {
  if (config.has_vit() && tag.find("_ft_") != std::string_view::npos) config.mutable_vit()->clear_projection();
  const bool has_head = config.vit().layer_scale() == 0 && config.vit().projection() == 0;
  config.set_classes(has_head ? classes : 0);
}

// Returns the error for `arch`, with similar names. `name` is `arch` without the weights' tag and the organisation.
absl::Status UnknownArch(ForeignSource source, std::string_view arch, std::string_view name) {
  constexpr size_t kShown = 3;
  std::vector<std::string> known = ForeignArchs(source), near;
  while (near.size() < kShown) {
    const std::string word = NearestWord(name, known);
    if (word.empty()) break;
    std::erase(known, word);
    near.push_back(word);
  }
  return absl::InvalidArgumentError(absl::StrCat("no architecture ", Quoted(arch), near.empty() ? "" : "; similar are ",
                                                 absl::StrJoin(near, ", "),
                                                 "; `vitrine-repo import --help` lists the supported ones"));
}

}  // namespace

absl::StatusOr<ForeignSource> ForeignSourceNamed(std::string_view name) {
  if (name == "timm") return ForeignSource::kTimm;
  if (name == "huggingface") return ForeignSource::kHuggingFace;
  if (name == "openclip") return ForeignSource::kOpenClip;
  return absl::InvalidArgumentError(
      absl::StrCat("--from is ", std::string(name), "; it must be timm, huggingface or openclip"));
}

std::vector<std::string> ForeignArchs(ForeignSource source) {
  std::vector<std::string> names;
  for (const Arch& arch : ArchsOf(source)) names.push_back(arch.name);
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<v1::ModelConfig> ForeignConfig(ForeignSource source, std::string_view arch, int classes) {
  std::string_view name = arch, tag;
  if (source == ForeignSource::kTimm) {
    const size_t dot = name.find('.');
    name = name.substr(0, dot);
    if (dot != std::string_view::npos) tag = arch.substr(dot + 1);
  } else if (name.starts_with("google/") || name.starts_with("facebook/") || name.starts_with("openai/")) {
    name.remove_prefix(name.find('/') + 1);
  }
  for (const Arch& known : ArchsOf(source)) {
    if (known.name != name) continue;
    // Accepts any tag for CLIP, because all weights of CLIP's towers use the same mean and deviation.
    if (!tag.empty() && !IsKnownTag(tag) && name.find("_clip_") == std::string_view::npos) {
      return absl::InvalidArgumentError(absl::StrCat("the weights ", Quoted(tag), " of ", Quoted(name),
                                                     " are unknown; leave the tag out and give --mean, --std, "
                                                     "--crop and --interpolation"));
    }
    v1::ModelConfig config = known.config;
    SetClasses(tag, classes, config);
    return config;
  }
  return UnknownArch(source, arch, name);
}

}  // namespace vitrine
