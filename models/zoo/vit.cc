#include "models/zoo/inputs.h"
#include "models/zoo/rows.h"

namespace vitrine::zoo {
namespace {

constexpr std::string_view kVitPaper = "ViT, Table 1; DeiT for Ti and S";

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
      {"vit-mini-cifar10", Vit(Cifar(10, 4), 4, 250, 5, 10), 3'798'010, "EIT, Table 4: ViT"},
      // clang-format on
  };
}

}  // namespace vitrine::zoo
