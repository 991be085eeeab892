#include "models/zoo.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace vitrine {
namespace {

// A data set's pictures: classes and preprocessing, the family still open.
v1::ModelConfig Input(int classes, std::vector<float> mean, std::vector<float> std, v1::Interpolation interpolation) {
  v1::ModelConfig config;
  config.set_classes(classes);
  v1::Preprocessing& preprocessing = *config.mutable_preprocessing();
  preprocessing.set_channels(static_cast<int>(mean.size()));
  preprocessing.mutable_mean()->Assign(mean.begin(), mean.end());
  preprocessing.mutable_std()->Assign(std.begin(), std.end());
  preprocessing.set_interpolation(interpolation);
  return config;
}

v1::ModelConfig Fixed(v1::ModelConfig config, int side, v1::FixedResolution::Fit fit) {
  v1::FixedResolution& fixed = *config.mutable_preprocessing()->mutable_fixed();
  fixed.set_height(side);
  fixed.set_width(side);
  fixed.set_fit(fit);
  return config;
}

// Any aspect, from 24x24 to 48x48 pixels' worth of tokens at a cell of 4.
v1::ModelConfig Native(v1::ModelConfig config, int cell) {
  v1::NativeResolution& native = *config.mutable_preprocessing()->mutable_native();
  native.set_cell(cell);
  native.set_min_tokens(36);
  native.set_max_tokens(144);
  return config;
}

v1::ModelConfig CifarInput(int classes) {
  return Input(classes, {0.4914F, 0.4822F, 0.4465F}, {0.2470F, 0.2435F, 0.2616F}, v1::BICUBIC);
}
v1::ModelConfig Cifar(int classes, int cell) {
  return Native(CifarInput(classes), cell);
}
v1::ModelConfig FixedCifar(int classes) {
  return Fixed(CifarInput(classes), 32, v1::FixedResolution::CENTER_CROP);
}
v1::ModelConfig Mnist() {
  return Fixed(Input(10, {0.1307F}, {0.3081F}, v1::BICUBIC), 28, v1::FixedResolution::STRETCH);
}
v1::ModelConfig FashionMnist(int cell) {
  return Native(Input(10, {0.1307F}, {0.3081F}, v1::BICUBIC), cell);
}
v1::ModelConfig ImageNet(int side) {
  return Fixed(Input(1000, {0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F}, v1::BICUBIC), side,
               v1::FixedResolution::CENTER_CROP);
}

// Side of the square grid that positions are learned for: of the fixed size, or of 32x32 pixels.
int GridSide(const v1::ModelConfig& config, int cell) {
  return (config.preprocessing().has_fixed() ? config.preprocessing().fixed().height() : 32) / cell;
}

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

struct EitSize {
  int width;
  int depth;
  int heads;
};
constexpr EitSize kMini{250, 5, 10};
constexpr EitSize kTiny{330, 8, 10};
constexpr EitSize kBase{400, 10, 16};

v1::ModelConfig Eit(v1::ModelConfig config, int pool, EitSize size) {
  const int side = GridSide(config, pool);
  v1::EitConfig& eit = *config.mutable_eit();
  eit.set_width(size.width);
  eit.set_depth(size.depth);
  eit.set_heads(size.heads);
  eit.set_mlp_width(4 * size.width);
  eit.set_pool(pool);
  eit.set_grid_rows(side);
  eit.set_grid_columns(side);
  return config;
}
v1::ModelConfig WithoutEitP(v1::ModelConfig config) {
  config.mutable_eit()->set_conv_projection(false);
  return config;
}
v1::ModelConfig WithoutEitT(v1::ModelConfig config) {
  config.mutable_eit()->set_conv_channels(false);
  return config;
}

// The vision script's settings: MLP as wide as the model, scores scaled by the full width, 50 position channels.
v1::ModelConfig Kv(v1::ModelConfig config, int patch, int width, int depth, v1::KvConfig::Attention attention) {
  const int side = GridSide(config, patch);
  v1::KvConfig& kv = *config.mutable_kv();
  kv.set_patch(patch);
  kv.set_width(width);
  kv.set_depth(depth);
  kv.set_heads(4);
  kv.set_mlp_width(width);
  kv.set_attention(attention);
  if (attention == v1::KvConfig::KV_POS) kv.set_position_channels(50);
  kv.set_score_scale(v1::KvConfig::FULL_WIDTH);
  kv.set_grid_rows(side);
  kv.set_grid_columns(side);
  return config;
}

v1::ModelConfig Null(v1::ModelConfig config) {
  config.mutable_null();
  return config;
}

constexpr std::string_view kVitPaper = "ViT, Table 1; DeiT for Ti and S";
constexpr std::string_view kKvPaper = "KV transformer, vision classifier";

std::vector<ZooRow> MakeZoo() {
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
      {"eit-p-mini-cifar10", WithoutEitT(Eit(Cifar(10, 4), 4, kMini)), 3'792'760, "EIT, Table 4: EIT^P alone"},
      {"eit-t-mini-cifar10", WithoutEitP(Eit(Cifar(10, 4), 4, kMini)), 3'771'010, "EIT, Table 4: EIT^T alone"},
      {"eit34-mini-cifar10", Eit(Cifar(10, 4), 4, kMini), 3'765'760, "EIT, Table 4: EIT3/4-Mini"},
      {"eit33-mini-cifar10", Eit(Cifar(10, 3), 3, kMini), 3'774'760, "EIT, Table 5: EIT3/3-Mini"},
      {"eit34-tiny-cifar10", Eit(Cifar(10, 4), 4, kTiny), 10'589'650, "EIT, Table 5: EIT3/4-Tiny"},
      {"eit33-tiny-cifar10", Eit(Cifar(10, 3), 3, kTiny), 10'601'530, "EIT, Table 5: EIT3/3-Tiny"},
      {"eit34-base-cifar10", Eit(Cifar(10, 4), 4, kBase), 19'539'210, "EIT, Table 5: EIT3/4-Base"},
      {"eit33-base-cifar10", Eit(Cifar(10, 3), 3, kBase), 19'553'610, "EIT, Table 5: EIT3/3-Base"},
      {"eit34-mini-cifar100", Eit(Cifar(100, 4), 4, kMini), 3'788'350, "EIT, EIT3/4-Mini with 100 classes"},
      {"eit34-mini-fashion-mnist", Eit(FashionMnist(4), 4, kMini), 3'761'260, "EIT, EIT3/4-Mini with one channel"},
      {"qkv-mnist-p7-d64-l2", Kv(Mnist(), 7, 64, 2, v1::KvConfig::QKV), 59'210, kKvPaper},
      {"kv-pos-mnist-p7-d64-l2", Kv(Mnist(), 7, 64, 2, v1::KvConfig::KV_POS), 51'120, kKvPaper},
      {"kv-mnist-p7-d64-l2", Kv(Mnist(), 7, 64, 2, v1::KvConfig::KV), 51'018, kKvPaper},
      {"qkv-mnist-p7-d64-l4", Kv(Mnist(), 7, 64, 4, v1::KvConfig::QKV), 109'258, kKvPaper},
      {"kv-pos-mnist-p7-d64-l4", Kv(Mnist(), 7, 64, 4, v1::KvConfig::KV_POS), 93'078, kKvPaper},
      {"kv-mnist-p7-d64-l4", Kv(Mnist(), 7, 64, 4, v1::KvConfig::KV), 92'874, kKvPaper},
      {"qkv-mnist-p7-d256-l2", Kv(Mnist(), 7, 256, 2, v1::KvConfig::QKV), 875'786, kKvPaper},
      {"kv-pos-mnist-p7-d256-l2", Kv(Mnist(), 7, 256, 2, v1::KvConfig::KV_POS), 744'816, kKvPaper},
      {"kv-mnist-p7-d256-l2", Kv(Mnist(), 7, 256, 2, v1::KvConfig::KV), 744'714, kKvPaper},
      {"qkv-mnist-p7-d256-l4", Kv(Mnist(), 7, 256, 4, v1::KvConfig::QKV), 1'665'802, kKvPaper},
      {"kv-pos-mnist-p7-d256-l4", Kv(Mnist(), 7, 256, 4, v1::KvConfig::KV_POS), 1'403'862, kKvPaper},
      {"kv-mnist-p7-d256-l4", Kv(Mnist(), 7, 256, 4, v1::KvConfig::KV), 1'403'658, kKvPaper},
      {"qkv-mnist-p7-d512-l2", Kv(Mnist(), 7, 512, 2, v1::KvConfig::QKV), 3'455'498, kKvPaper},
      {"kv-pos-mnist-p7-d512-l2", Kv(Mnist(), 7, 512, 2, v1::KvConfig::KV_POS), 2'931'312, kKvPaper},
      {"kv-mnist-p7-d512-l2", Kv(Mnist(), 7, 512, 2, v1::KvConfig::KV), 2'931'210, kKvPaper},
      {"qkv-mnist-p7-d512-l4", Kv(Mnist(), 7, 512, 4, v1::KvConfig::QKV), 6'608'394, kKvPaper},
      {"kv-pos-mnist-p7-d512-l4", Kv(Mnist(), 7, 512, 4, v1::KvConfig::KV_POS), 5'560'022, kKvPaper},
      {"kv-mnist-p7-d512-l4", Kv(Mnist(), 7, 512, 4, v1::KvConfig::KV), 5'559'818, kKvPaper},
      {"qkv-cifar10-p4-d64-l2", Kv(FixedCifar(10), 4, 64, 2, v1::KvConfig::QKV), 62'218, kKvPaper},
      {"kv-pos-cifar10-p4-d64-l2", Kv(FixedCifar(10), 4, 64, 2, v1::KvConfig::KV_POS), 54'128, kKvPaper},
      {"kv-cifar10-p4-d64-l2", Kv(FixedCifar(10), 4, 64, 2, v1::KvConfig::KV), 54'026, kKvPaper},
      {"qkv-cifar10-p4-d64-l4", Kv(FixedCifar(10), 4, 64, 4, v1::KvConfig::QKV), 112'266, kKvPaper},
      {"kv-pos-cifar10-p4-d64-l4", Kv(FixedCifar(10), 4, 64, 4, v1::KvConfig::KV_POS), 96'086, kKvPaper},
      {"kv-cifar10-p4-d64-l4", Kv(FixedCifar(10), 4, 64, 4, v1::KvConfig::KV), 95'882, kKvPaper},
      {"qkv-cifar10-p4-d256-l2", Kv(FixedCifar(10), 4, 256, 2, v1::KvConfig::QKV), 887'818, kKvPaper},
      {"kv-pos-cifar10-p4-d256-l2", Kv(FixedCifar(10), 4, 256, 2, v1::KvConfig::KV_POS), 756'848, kKvPaper},
      {"kv-cifar10-p4-d256-l2", Kv(FixedCifar(10), 4, 256, 2, v1::KvConfig::KV), 756'746, kKvPaper},
      {"qkv-cifar10-p4-d256-l4", Kv(FixedCifar(10), 4, 256, 4, v1::KvConfig::QKV), 1'677'834, kKvPaper},
      {"kv-pos-cifar10-p4-d256-l4", Kv(FixedCifar(10), 4, 256, 4, v1::KvConfig::KV_POS), 1'415'894, kKvPaper},
      {"kv-cifar10-p4-d256-l4", Kv(FixedCifar(10), 4, 256, 4, v1::KvConfig::KV), 1'415'690, kKvPaper},
      {"qkv-cifar10-p4-d512-l2", Kv(FixedCifar(10), 4, 512, 2, v1::KvConfig::QKV), 3'479'562, kKvPaper},
      {"kv-pos-cifar10-p4-d512-l2", Kv(FixedCifar(10), 4, 512, 2, v1::KvConfig::KV_POS), 2'955'376, kKvPaper},
      {"kv-cifar10-p4-d512-l2", Kv(FixedCifar(10), 4, 512, 2, v1::KvConfig::KV), 2'955'274, kKvPaper},
      {"qkv-cifar10-p4-d512-l4", Kv(FixedCifar(10), 4, 512, 4, v1::KvConfig::QKV), 6'632'458, kKvPaper},
      {"kv-pos-cifar10-p4-d512-l4", Kv(FixedCifar(10), 4, 512, 4, v1::KvConfig::KV_POS), 5'584'086, kKvPaper},
      {"kv-cifar10-p4-d512-l4", Kv(FixedCifar(10), 4, 512, 4, v1::KvConfig::KV), 5'583'882, kKvPaper},
      {"qkv-cifar100-p4-d256-l2", Kv(FixedCifar(100), 4, 256, 2, v1::KvConfig::QKV), 910'948, kKvPaper},
      {"kv-pos-cifar100-p4-d256-l2", Kv(FixedCifar(100), 4, 256, 2, v1::KvConfig::KV_POS), 779'978, kKvPaper},
      {"kv-cifar100-p4-d256-l2", Kv(FixedCifar(100), 4, 256, 2, v1::KvConfig::KV), 779'876, kKvPaper},
      {"qkv-cifar100-p4-d256-l4", Kv(FixedCifar(100), 4, 256, 4, v1::KvConfig::QKV), 1'700'964, kKvPaper},
      {"kv-pos-cifar100-p4-d256-l4", Kv(FixedCifar(100), 4, 256, 4, v1::KvConfig::KV_POS), 1'439'024, kKvPaper},
      {"kv-cifar100-p4-d256-l4", Kv(FixedCifar(100), 4, 256, 4, v1::KvConfig::KV), 1'438'820, kKvPaper},
      {"null", Null(ImageNet(224)), 0, "the service without a model"},
      // clang-format on
  };
}

// Levenshtein distance.
int Distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    int diagonal = std::exchange(row[0], static_cast<int>(i) + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const int replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::span<const ZooRow> Zoo() {
  static const auto* const kZoo = new std::vector<ZooRow>(MakeZoo());
  return *kZoo;
}

absl::StatusOr<ZooRow> FindVariant(std::string_view name) {
  std::vector<std::pair<int, std::string>> near;
  for (const ZooRow& row : Zoo()) {
    if (row.name == name) return row;
    near.emplace_back(Distance(name, row.name), row.name);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  near.resize(std::min<size_t>(near.size(), 3));
  return absl::NotFoundError(absl::StrCat(
      "no variant is named \"", std::string(name), "\"; the nearest are ",
      absl::StrJoin(near, ", ", [](std::string* out, const auto& entry) { absl::StrAppend(out, entry.second); })));
}

}  // namespace vitrine
