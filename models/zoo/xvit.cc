// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/inputs.h"
#include "models/zoo/rows.h"

namespace vitrine::zoo {
namespace {

constexpr std::string_view kXVitPaper = "X-ViT, Table 1";
constexpr std::string_view kOtherAxis = "X-ViT, XNorm over the last axis of K^T V";
constexpr std::string_view kOtherPart = "X-ViT, another part in its frame";

struct XVitSize {
  int width;
  int depth;
  int attention_width;
  int heads;
};
constexpr XVitSize kXVitTiny{192, 24, 96, 4};
constexpr XVitSize kXVitSmall{384, 12, 128, 8};
constexpr XVitSize kXVitMedium{384, 24, 128, 8};
constexpr XVitSize kXVitBase{512, 24, 128, 8};

v1::ModelConfig XVit(XVitSize size, v1::XVitConfig::NormAxis axis = v1::XVitConfig::CONTRACTED) {
  constexpr int kPatch = 16;
  v1::ModelConfig config = NativeImageNet(1000, kPatch);
  v1::XVitConfig& xvit = *config.mutable_xvit();
  xvit.set_patch(kPatch);
  xvit.set_width(size.width);
  xvit.set_depth(size.depth);
  xvit.set_class_depth(2);
  xvit.set_heads(size.heads);
  xvit.set_attention_width(size.attention_width);
  xvit.set_mlp_width(4 * size.width);
  xvit.set_norm_axis(axis);
  xvit.set_affine_scale(size.depth > 12 ? 1e-5F : 1);
  return config;
}

v1::ModelConfig Mixing(v1::XVitConfig::Mixer mixer) {
  v1::ModelConfig config = XVit(kXVitTiny);
  config.mutable_xvit()->set_mixer(mixer);
  return config;
}

v1::ModelConfig Depthwise() {
  v1::ModelConfig config = XVit(kXVitTiny);
  config.mutable_xvit()->set_local(v1::XVitConfig::DEPTHWISE);
  return config;
}

v1::ModelConfig Patches() {
  v1::ModelConfig config = XVit(kXVitTiny);
  config.mutable_xvit()->set_stem(v1::XVitConfig::PATCHES);
  return config;
}

}  // namespace

std::vector<ZooRow> XVitRows() {
  return {
      // clang-format off
      // name, config, parameters, source
      {"xvit-t", XVit(kXVitTiny), 10'207'184, kXVitPaper},
      {"xvit-s", XVit(kXVitSmall), 20'753'016, kXVitPaper},
      {"xvit-m", XVit(kXVitMedium), 37'457'208, kXVitPaper},
      {"xvit-b", XVit(kXVitBase), 63'957'704, kXVitPaper},
      {"xvit-t-last-axis", XVit(kXVitTiny, v1::XVitConfig::LAST), 10'207'184, kOtherAxis},
      {"xvit-s-last-axis", XVit(kXVitSmall, v1::XVitConfig::LAST), 20'753'016, kOtherAxis},
      {"xvit-m-last-axis", XVit(kXVitMedium, v1::XVitConfig::LAST), 37'457'208, kOtherAxis},
      {"xvit-b-last-axis", XVit(kXVitBase, v1::XVitConfig::LAST), 63'957'704, kOtherAxis},
      {"xvit-t-softmax", Mixing(v1::XVitConfig::SOFTMAX), 10'206'976, kOtherPart},
      {"xvit-t-xca", Mixing(v1::XVitConfig::XCA), 10'207'072, kOtherPart},
      {"xvit-t-no-norm", Mixing(v1::XVitConfig::NONE), 10'207'184, kOtherPart},
      {"xvit-t-depthwise", Depthwise(), 10'151'888, kOtherPart},
      {"xvit-t-patches", Patches(), 10'135'736, kOtherPart},
      // clang-format on
  };
}

}  // namespace vitrine::zoo
