// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "models/zoo/inputs.h"
#include "models/zoo/rows.h"

namespace vitrine::zoo {
namespace {

// 2 and 4 heads give the same parameter count; the rows use 4.
constexpr std::string_view kMnist = "KV transformer, vision classifier: MNIST and Fashion-MNIST, 2 or 4 heads";
constexpr std::string_view kKvCifar = "KV transformer, vision classifier: 2 or 4 heads";
constexpr std::string_view kKvCifarFormula =
    "KV transformer, vision classifier: 2 or 4 heads; its count by the formula";

// Settings of the vision script in the KV transformer's code: MLP as wide as the model, scores scaled by the full
// width, 50 position channels.
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

std::vector<ZooRow> MnistRows() {
  return {
      // clang-format off
      // name, config, parameters, source
      {"qkv-mnist-p7-d64-l2", Kv(Mnist(), 7, 64, 2, v1::KvConfig::QKV), 59'210, kMnist},
      {"kv-pos-mnist-p7-d64-l2", Kv(Mnist(), 7, 64, 2, v1::KvConfig::KV_POS), 51'120, kMnist},
      {"kv-mnist-p7-d64-l2", Kv(Mnist(), 7, 64, 2, v1::KvConfig::KV), 51'018, kMnist},
      {"qkv-mnist-p7-d64-l4", Kv(Mnist(), 7, 64, 4, v1::KvConfig::QKV), 109'258, kMnist},
      {"kv-pos-mnist-p7-d64-l4", Kv(Mnist(), 7, 64, 4, v1::KvConfig::KV_POS), 93'078, kMnist},
      {"kv-mnist-p7-d64-l4", Kv(Mnist(), 7, 64, 4, v1::KvConfig::KV), 92'874, kMnist},
      {"qkv-mnist-p7-d256-l2", Kv(Mnist(), 7, 256, 2, v1::KvConfig::QKV), 875'786, kMnist},
      {"kv-pos-mnist-p7-d256-l2", Kv(Mnist(), 7, 256, 2, v1::KvConfig::KV_POS), 744'816, kMnist},
      {"kv-mnist-p7-d256-l2", Kv(Mnist(), 7, 256, 2, v1::KvConfig::KV), 744'714, kMnist},
      {"qkv-mnist-p7-d256-l4", Kv(Mnist(), 7, 256, 4, v1::KvConfig::QKV), 1'665'802, kMnist},
      {"kv-pos-mnist-p7-d256-l4", Kv(Mnist(), 7, 256, 4, v1::KvConfig::KV_POS), 1'403'862, kMnist},
      {"kv-mnist-p7-d256-l4", Kv(Mnist(), 7, 256, 4, v1::KvConfig::KV), 1'403'658, kMnist},
      {"qkv-mnist-p7-d512-l2", Kv(Mnist(), 7, 512, 2, v1::KvConfig::QKV), 3'455'498, kMnist},
      {"kv-pos-mnist-p7-d512-l2", Kv(Mnist(), 7, 512, 2, v1::KvConfig::KV_POS), 2'931'312, kMnist},
      {"kv-mnist-p7-d512-l2", Kv(Mnist(), 7, 512, 2, v1::KvConfig::KV), 2'931'210, kMnist},
      {"qkv-mnist-p7-d512-l4", Kv(Mnist(), 7, 512, 4, v1::KvConfig::QKV), 6'608'394, kMnist},
      {"kv-pos-mnist-p7-d512-l4", Kv(Mnist(), 7, 512, 4, v1::KvConfig::KV_POS), 5'560'022, kMnist},
      {"kv-mnist-p7-d512-l4", Kv(Mnist(), 7, 512, 4, v1::KvConfig::KV), 5'559'818, kMnist},
      // Patch 4 instead of 7: 7x7 tokens of 16 values instead of 4x4 tokens of 49 values. The parameter counts are the
      // same.
      {"qkv-mnist-p4-d64-l2", Kv(Mnist(), 4, 64, 2, v1::KvConfig::QKV), 59'210, kMnist},
      {"kv-pos-mnist-p4-d64-l2", Kv(Mnist(), 4, 64, 2, v1::KvConfig::KV_POS), 51'120, kMnist},
      {"kv-mnist-p4-d64-l2", Kv(Mnist(), 4, 64, 2, v1::KvConfig::KV), 51'018, kMnist},
      {"qkv-mnist-p4-d64-l4", Kv(Mnist(), 4, 64, 4, v1::KvConfig::QKV), 109'258, kMnist},
      {"kv-pos-mnist-p4-d64-l4", Kv(Mnist(), 4, 64, 4, v1::KvConfig::KV_POS), 93'078, kMnist},
      {"kv-mnist-p4-d64-l4", Kv(Mnist(), 4, 64, 4, v1::KvConfig::KV), 92'874, kMnist},
      {"qkv-mnist-p4-d256-l2", Kv(Mnist(), 4, 256, 2, v1::KvConfig::QKV), 875'786, kMnist},
      {"kv-pos-mnist-p4-d256-l2", Kv(Mnist(), 4, 256, 2, v1::KvConfig::KV_POS), 744'816, kMnist},
      {"kv-mnist-p4-d256-l2", Kv(Mnist(), 4, 256, 2, v1::KvConfig::KV), 744'714, kMnist},
      {"qkv-mnist-p4-d256-l4", Kv(Mnist(), 4, 256, 4, v1::KvConfig::QKV), 1'665'802, kMnist},
      {"kv-pos-mnist-p4-d256-l4", Kv(Mnist(), 4, 256, 4, v1::KvConfig::KV_POS), 1'403'862, kMnist},
      {"kv-mnist-p4-d256-l4", Kv(Mnist(), 4, 256, 4, v1::KvConfig::KV), 1'403'658, kMnist},
      {"qkv-mnist-p4-d512-l2", Kv(Mnist(), 4, 512, 2, v1::KvConfig::QKV), 3'455'498, kMnist},
      {"kv-pos-mnist-p4-d512-l2", Kv(Mnist(), 4, 512, 2, v1::KvConfig::KV_POS), 2'931'312, kMnist},
      {"kv-mnist-p4-d512-l2", Kv(Mnist(), 4, 512, 2, v1::KvConfig::KV), 2'931'210, kMnist},
      {"qkv-mnist-p4-d512-l4", Kv(Mnist(), 4, 512, 4, v1::KvConfig::QKV), 6'608'394, kMnist},
      {"kv-pos-mnist-p4-d512-l4", Kv(Mnist(), 4, 512, 4, v1::KvConfig::KV_POS), 5'560'022, kMnist},
      {"kv-mnist-p4-d512-l4", Kv(Mnist(), 4, 512, 4, v1::KvConfig::KV), 5'559'818, kMnist},
      // clang-format on
  };
}

std::vector<ZooRow> CifarRows() {
  return {
      // clang-format off
      // name, config, parameters, source
      {"qkv-cifar10-p4-d64-l2", Kv(FixedCifar(10), 4, 64, 2, v1::KvConfig::QKV), 62'218, kKvCifar},
      {"kv-pos-cifar10-p4-d64-l2", Kv(FixedCifar(10), 4, 64, 2, v1::KvConfig::KV_POS), 54'128, kKvCifar},
      {"kv-cifar10-p4-d64-l2", Kv(FixedCifar(10), 4, 64, 2, v1::KvConfig::KV), 54'026, kKvCifar},
      {"qkv-cifar10-p4-d64-l4", Kv(FixedCifar(10), 4, 64, 4, v1::KvConfig::QKV), 112'266, kKvCifar},
      {"kv-pos-cifar10-p4-d64-l4", Kv(FixedCifar(10), 4, 64, 4, v1::KvConfig::KV_POS), 96'086, kKvCifar},
      {"kv-cifar10-p4-d64-l4", Kv(FixedCifar(10), 4, 64, 4, v1::KvConfig::KV), 95'882, kKvCifar},
      {"qkv-cifar10-p4-d256-l2", Kv(FixedCifar(10), 4, 256, 2, v1::KvConfig::QKV), 887'818, kKvCifar},
      {"kv-pos-cifar10-p4-d256-l2", Kv(FixedCifar(10), 4, 256, 2, v1::KvConfig::KV_POS), 756'848, kKvCifar},
      {"kv-cifar10-p4-d256-l2", Kv(FixedCifar(10), 4, 256, 2, v1::KvConfig::KV), 756'746, kKvCifar},
      {"qkv-cifar10-p4-d256-l4", Kv(FixedCifar(10), 4, 256, 4, v1::KvConfig::QKV), 1'677'834, kKvCifar},
      {"kv-pos-cifar10-p4-d256-l4", Kv(FixedCifar(10), 4, 256, 4, v1::KvConfig::KV_POS), 1'415'894, kKvCifar},
      {"kv-cifar10-p4-d256-l4", Kv(FixedCifar(10), 4, 256, 4, v1::KvConfig::KV), 1'415'690, kKvCifar},
      {"qkv-cifar10-p4-d512-l2", Kv(FixedCifar(10), 4, 512, 2, v1::KvConfig::QKV), 3'479'562, kKvCifar},
      {"kv-pos-cifar10-p4-d512-l2", Kv(FixedCifar(10), 4, 512, 2, v1::KvConfig::KV_POS), 2'955'376, kKvCifar},
      {"kv-cifar10-p4-d512-l2", Kv(FixedCifar(10), 4, 512, 2, v1::KvConfig::KV), 2'955'274, kKvCifar},
      {"qkv-cifar10-p4-d512-l4", Kv(FixedCifar(10), 4, 512, 4, v1::KvConfig::QKV), 6'632'458, kKvCifar},
      {"kv-pos-cifar10-p4-d512-l4", Kv(FixedCifar(10), 4, 512, 4, v1::KvConfig::KV_POS), 5'584'086, kKvCifar},
      {"kv-cifar10-p4-d512-l4", Kv(FixedCifar(10), 4, 512, 4, v1::KvConfig::KV), 5'583'882, kKvCifar},
      // Rows with patch 8, the vision script's default for CIFAR: 4x4 tokens.
      {"qkv-cifar10-p8-d64-l2", Kv(FixedCifar(10), 8, 64, 2, v1::KvConfig::QKV), 68'362, kKvCifarFormula},
      {"kv-pos-cifar10-p8-d64-l2", Kv(FixedCifar(10), 8, 64, 2, v1::KvConfig::KV_POS), 60'272, kKvCifarFormula},
      {"kv-cifar10-p8-d64-l2", Kv(FixedCifar(10), 8, 64, 2, v1::KvConfig::KV), 60'170, kKvCifarFormula},
      {"qkv-cifar10-p8-d64-l4", Kv(FixedCifar(10), 8, 64, 4, v1::KvConfig::QKV), 118'410, kKvCifarFormula},
      {"kv-pos-cifar10-p8-d64-l4", Kv(FixedCifar(10), 8, 64, 4, v1::KvConfig::KV_POS), 102'230, kKvCifarFormula},
      {"kv-cifar10-p8-d64-l4", Kv(FixedCifar(10), 8, 64, 4, v1::KvConfig::KV), 102'026, kKvCifarFormula},
      {"qkv-cifar10-p8-d256-l2", Kv(FixedCifar(10), 8, 256, 2, v1::KvConfig::QKV), 912'394, kKvCifarFormula},
      {"kv-pos-cifar10-p8-d256-l2", Kv(FixedCifar(10), 8, 256, 2, v1::KvConfig::KV_POS), 781'424, kKvCifarFormula},
      {"kv-cifar10-p8-d256-l2", Kv(FixedCifar(10), 8, 256, 2, v1::KvConfig::KV), 781'322, kKvCifarFormula},
      {"qkv-cifar10-p8-d256-l4", Kv(FixedCifar(10), 8, 256, 4, v1::KvConfig::QKV), 1'702'410, kKvCifarFormula},
      {"kv-pos-cifar10-p8-d256-l4", Kv(FixedCifar(10), 8, 256, 4, v1::KvConfig::KV_POS), 1'440'470, kKvCifarFormula},
      {"kv-cifar10-p8-d256-l4", Kv(FixedCifar(10), 8, 256, 4, v1::KvConfig::KV), 1'440'266, kKvCifarFormula},
      {"qkv-cifar10-p8-d512-l2", Kv(FixedCifar(10), 8, 512, 2, v1::KvConfig::QKV), 3'528'714, kKvCifarFormula},
      {"kv-pos-cifar10-p8-d512-l2", Kv(FixedCifar(10), 8, 512, 2, v1::KvConfig::KV_POS), 3'004'528, kKvCifarFormula},
      {"kv-cifar10-p8-d512-l2", Kv(FixedCifar(10), 8, 512, 2, v1::KvConfig::KV), 3'004'426, kKvCifarFormula},
      {"qkv-cifar10-p8-d512-l4", Kv(FixedCifar(10), 8, 512, 4, v1::KvConfig::QKV), 6'681'610, kKvCifarFormula},
      {"kv-pos-cifar10-p8-d512-l4", Kv(FixedCifar(10), 8, 512, 4, v1::KvConfig::KV_POS), 5'633'238, kKvCifarFormula},
      {"kv-cifar10-p8-d512-l4", Kv(FixedCifar(10), 8, 512, 4, v1::KvConfig::KV), 5'633'034, kKvCifarFormula},
      {"qkv-cifar100-p4-d64-l2", Kv(FixedCifar(100), 4, 64, 2, v1::KvConfig::QKV), 68'068, kKvCifarFormula},
      {"kv-pos-cifar100-p4-d64-l2", Kv(FixedCifar(100), 4, 64, 2, v1::KvConfig::KV_POS), 59'978, kKvCifarFormula},
      {"kv-cifar100-p4-d64-l2", Kv(FixedCifar(100), 4, 64, 2, v1::KvConfig::KV), 59'876, kKvCifarFormula},
      {"qkv-cifar100-p4-d64-l4", Kv(FixedCifar(100), 4, 64, 4, v1::KvConfig::QKV), 118'116, kKvCifarFormula},
      {"kv-pos-cifar100-p4-d64-l4", Kv(FixedCifar(100), 4, 64, 4, v1::KvConfig::KV_POS), 101'936, kKvCifarFormula},
      {"kv-cifar100-p4-d64-l4", Kv(FixedCifar(100), 4, 64, 4, v1::KvConfig::KV), 101'732, kKvCifarFormula},
      {"qkv-cifar100-p4-d256-l2", Kv(FixedCifar(100), 4, 256, 2, v1::KvConfig::QKV), 910'948, kKvCifar},
      {"kv-pos-cifar100-p4-d256-l2", Kv(FixedCifar(100), 4, 256, 2, v1::KvConfig::KV_POS), 779'978, kKvCifar},
      {"kv-cifar100-p4-d256-l2", Kv(FixedCifar(100), 4, 256, 2, v1::KvConfig::KV), 779'876, kKvCifar},
      {"qkv-cifar100-p4-d256-l4", Kv(FixedCifar(100), 4, 256, 4, v1::KvConfig::QKV), 1'700'964, kKvCifar},
      {"kv-pos-cifar100-p4-d256-l4", Kv(FixedCifar(100), 4, 256, 4, v1::KvConfig::KV_POS), 1'439'024, kKvCifar},
      {"kv-cifar100-p4-d256-l4", Kv(FixedCifar(100), 4, 256, 4, v1::KvConfig::KV), 1'438'820, kKvCifar},
      {"qkv-cifar100-p4-d512-l2", Kv(FixedCifar(100), 4, 512, 2, v1::KvConfig::QKV), 3'525'732, kKvCifarFormula},
      {"kv-pos-cifar100-p4-d512-l2", Kv(FixedCifar(100), 4, 512, 2, v1::KvConfig::KV_POS), 3'001'546, kKvCifarFormula},
      {"kv-cifar100-p4-d512-l2", Kv(FixedCifar(100), 4, 512, 2, v1::KvConfig::KV), 3'001'444, kKvCifarFormula},
      {"qkv-cifar100-p4-d512-l4", Kv(FixedCifar(100), 4, 512, 4, v1::KvConfig::QKV), 6'678'628, kKvCifarFormula},
      {"kv-pos-cifar100-p4-d512-l4", Kv(FixedCifar(100), 4, 512, 4, v1::KvConfig::KV_POS), 5'630'256, kKvCifarFormula},
      {"kv-cifar100-p4-d512-l4", Kv(FixedCifar(100), 4, 512, 4, v1::KvConfig::KV), 5'630'052, kKvCifarFormula},
      // clang-format on
  };
}

}  // namespace

std::vector<ZooRow> KvRows() {
  std::vector<ZooRow> rows = MnistRows();
  for (ZooRow& row : CifarRows()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace vitrine::zoo
