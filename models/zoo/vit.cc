// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/inputs.h"
#include "models/zoo/rows.h"

namespace vitrine::zoo {
namespace {

constexpr std::string_view kVitPaper = "ViT, Table 1; DeiT for Ti and S";
constexpr std::string_view kVitFormula = "ViT's sizes with another patch, by its formula";

v1::ModelConfig Vit(v1::ModelConfig config, int patch, int width, int depth, int heads) {
  const int side = GridSide(config, patch);
  v1::VitConfig& vit = *config.mutable_vit();
  vit.set_patch(patch);
  vit.set_width(width);
  vit.set_depth(depth);
  vit.set_heads(heads);
  vit.set_mlp_width(4 * width);
  vit.set_grid_rows(side);
  vit.set_grid_columns(side);
  return config;
}

v1::ModelConfig PostNorm(v1::ModelConfig config) {
  config.mutable_vit()->set_norm(v1::VitConfig::POST);
  return config;
}
// Sets native resolution: any aspect ratio, with as many tokens as images of 112x112 to 512x512 pixels have.
v1::ModelConfig Native(v1::ModelConfig config) {
  const int patch = config.vit().patch();
  v1::NativeResolution& native = *config.mutable_preprocessing()->mutable_native();
  native.set_cell(patch);
  native.set_min_tokens((112 / patch) * (112 / patch));
  native.set_max_tokens((512 / patch) * (512 / patch));
  return config;
}

}  // namespace

std::vector<ZooRow> VitRows() {
  return {
      // clang-format off
      // name, config, parameters, source
      {"vit-ti16", Vit(ImageNet(224), 16, 192, 12, 3), 5'717'416, kVitPaper},
      {"vit-s16", Vit(ImageNet(224), 16, 384, 12, 6), 22'050'664, kVitPaper},
      {"vit-b16", Vit(ImageNet(224), 16, 768, 12, 12), 86'567'656, kVitPaper},
      {"vit-b32", Vit(ImageNet(224), 32, 768, 12, 12), 88'224'232, kVitPaper},
      {"vit-l16", Vit(ImageNet(224), 16, 1024, 24, 16), 304'326'632, kVitPaper},
      {"vit-l32", Vit(ImageNet(224), 32, 1024, 24, 16), 306'535'400, kVitPaper},
      {"vit-h14", Vit(ImageNet(224), 14, 1280, 32, 16), 632'045'800, kVitPaper},
      {"vit-ti14", Vit(ImageNet(224), 14, 192, 12, 3), 5'694'376, kVitFormula},
      {"vit-ti32", Vit(ImageNet(224), 32, 192, 12, 3), 6'131'560, kVitFormula},
      {"vit-s14", Vit(ImageNet(224), 14, 384, 12, 6), 22'004'584, kVitFormula},
      {"vit-s32", Vit(ImageNet(224), 32, 384, 12, 6), 22'878'952, kVitFormula},
      {"vit-b14", Vit(ImageNet(224), 14, 768, 12, 12), 86'475'496, kVitFormula},
      {"vit-l14", Vit(ImageNet(224), 14, 1024, 24, 16), 304'203'752, kVitFormula},
      {"vit-h16", Vit(ImageNet(224), 16, 1280, 32, 16), 632'199'400, kVitFormula},
      {"vit-h32", Vit(ImageNet(224), 32, 1280, 32, 16), 634'960'360, kVitFormula},
      {"vit-ti16-native", Native(Vit(ImageNet(224), 16, 192, 12, 3)), 5'717'416, kVitPaper},
      {"vit-s16-native", Native(Vit(ImageNet(224), 16, 384, 12, 6)), 22'050'664, kVitPaper},
      {"vit-b16-native", Native(Vit(ImageNet(224), 16, 768, 12, 12)), 86'567'656, kVitPaper},
      {"vit-ti16-post", PostNorm(Vit(ImageNet(224), 16, 192, 12, 3)), 5'717'032,
       "ViT-Ti/16 with post-norm blocks, which need no last LayerNorm"},
      {"vit-mini-cifar10", Vit(Cifar(10, 4), 4, 250, 5, 10), 3'798'010, "EIT, Table 4: ViT"},
      // clang-format on
  };
}

}  // namespace vitrine::zoo
