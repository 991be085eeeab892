#include "models/zoo/inputs.h"
#include "models/zoo/rows.h"

namespace vitrine::zoo {
namespace {

constexpr std::string_view kKvPaper = "KV transformer, vision classifier";

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

}  // namespace

std::vector<ZooRow> KvRows() {
  return {
      // clang-format off
      // name, config, parameters, source
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
      // clang-format on
  };
}

}  // namespace vitrine::zoo
