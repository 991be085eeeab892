// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/inputs.h"
#include "models/zoo/rows.h"

namespace vitrine::zoo {
namespace {

struct EitSize {
  int width;
  int depth;
  int heads;
};
constexpr EitSize kEitMini{250, 5, 10};
constexpr EitSize kEitTiny{330, 8, 10};
constexpr EitSize kEitBase{400, 10, 16};

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

// Returns EIT3/3. The paper's image side of 32 pixels is not a multiple of the cell's 3 pixels, so two rows and two
// columns of pixels lie outside the 10x10 grid. Native resolution would enlarge the image to 33x33 pixels, 11x11
// tokens.
v1::ModelConfig Eit33(EitSize size) {
  return Eit(FixedCifar(10), 3, size);
}
v1::ModelConfig NativeEit33(EitSize size) {
  return Eit(Cifar(10, 3), 3, size);
}

// Returns EIT3/4-Mini, the model that the paper's ablations start from.
v1::ModelConfig Mini() {
  return Eit(Cifar(10, 4), 4, kEitMini);
}
v1::ModelConfig WithoutPositions(v1::ModelConfig config) {
  config.mutable_eit()->set_positions(false);
  config.mutable_eit()->clear_grid_rows();
  config.mutable_eit()->clear_grid_columns();
  return config;
}
v1::ModelConfig Parallel() {
  v1::ModelConfig config = WithoutPositions(WithoutEitT(Mini()));
  config.mutable_eit()->set_parallel_convolution(true);
  return config;
}
v1::ModelConfig Mini(v1::EitConfig::Convolution convolution) {
  v1::ModelConfig config = Mini();
  config.mutable_eit()->set_convolution(convolution);
  return config;
}
v1::ModelConfig Mini(v1::EitConfig::Schedule schedule) {
  v1::ModelConfig config = Mini();
  config.mutable_eit()->set_schedule(schedule);
  return config;
}

// Models that Table 4 of the EIT paper compares with EIT3/4-Mini. All have the width of EIT3/4-Mini.
using Baseline = v1::EitBaselineConfig;
v1::ModelConfig Compared(Baseline::Patches patches, Baseline::Mixer mixer, int depth = kEitMini.depth) {
  const int cell = patches == Baseline::OVERLAPPING ? 2 : 4;
  v1::ModelConfig config = Cifar(10, cell);
  const int side = GridSide(config, cell);
  Baseline& baseline = *config.mutable_eit_baseline();
  baseline.set_width(kEitMini.width);
  baseline.set_depth(depth);
  baseline.set_heads(kEitMini.heads);
  baseline.set_mlp_width(4 * kEitMini.width);
  baseline.set_patches(patches);
  baseline.set_mixer(mixer);
  baseline.set_grid_rows(side);
  baseline.set_grid_columns(side);
  return config;
}

}  // namespace

std::vector<ZooRow> EitRows() {
  return {
      // clang-format off
      // name, config, parameters, source
      {"lsra-mini-cifar10", Compared(Baseline::LINEAR, Baseline::LSRA), 3'679'060, "EIT, Table 4: LSRA"},
      {"cvt-p-mini-cifar10", Compared(Baseline::OVERLAPPING, Baseline::ATTENTION), 3'846'010, "EIT, Table 4: CvT^P"},
      {"cvt-t-mini-cifar10", Compared(Baseline::LINEAR, Baseline::CONVOLVED_QKV), 14'110'510, "EIT, Table 4: CvT^T"},
      {"cvt-pt-mini-cifar10", Compared(Baseline::OVERLAPPING, Baseline::CONVOLVED_QKV), 14'158'510,
       "EIT, Table 4: CvT^P + CvT^T"},
      {"vit-c-mini-cifar10", Compared(Baseline::STEM, Baseline::ATTENTION, 4), 4'107'760,
       "EIT, Table 4: ViT_C, which has four blocks"},
      {"eit-p-mini-cifar10", WithoutEitT(Mini()), 3'792'760, "EIT, Tables 4 and 7: EIT^P alone"},
      {"eit-t-mini-cifar10", WithoutEitP(Mini()), 3'771'010, "EIT, Table 4: EIT^T alone"},
      {"eit34-mini-cifar10", Mini(), 3'765'760, "EIT, Table 4: EIT3/4-Mini"},
      {"eit33-mini-cifar10", Eit33(kEitMini), 3'774'760, "EIT, Table 5: EIT3/3-Mini"},
      {"eit34-tiny-cifar10", Eit(Cifar(10, 4), 4, kEitTiny), 10'589'650, "EIT, Table 5: EIT3/4-Tiny"},
      {"eit33-tiny-cifar10", Eit33(kEitTiny), 10'601'530, "EIT, Table 5: EIT3/3-Tiny"},
      {"eit34-base-cifar10", Eit(Cifar(10, 4), 4, kEitBase), 19'539'210, "EIT, Table 5: EIT3/4-Base"},
      {"eit33-base-cifar10", Eit33(kEitBase), 19'553'610, "EIT, Table 5: EIT3/3-Base; 19.63 M in print"},
      {"eit34-mini-cifar100", Eit(Cifar(100, 4), 4, kEitMini), 3'788'350, "EIT, EIT3/4-Mini with 100 classes"},
      {"eit34-mini-tiny-imagenet", Eit(FixedTinyImageNet(), 4, kEitMini), 3'813'450, "EIT, EIT3/4-Mini with 200 classes"},
      {"eit34-mini-fashion-mnist", Eit(FixedFashionMnist(), 4, kEitMini), 3'761'260, "EIT, EIT3/4-Mini with one channel"},
      {"eit34-mini-parallel-cifar10", Parallel(), 6'589'010, "EIT, ablation 3.2: parallel convolution, no positions"},
      {"eit34-mini-conv-conv-cifar10", Mini(v1::EitConfig::CONV_CONV), 5'115'760, "EIT, ablation 4.3: Conv Conv"},
      {"eit34-mini-gelu-conv-cifar10", Mini(v1::EitConfig::GELU_CONV), 3'841'260, "EIT, ablation 4.4: GELU Conv"},
      {"eit34-mini-bn-relu-cifar10", Mini(v1::EitConfig::BN_RELU), 3'766'760,
       "EIT, ablation 4.5: BN ReLU; 3.768 M in print counts 1,000 moving statistics"},
      {"eit34-mini-increasing-cifar10", Mini(v1::EitConfig::INCREASING), 3'765'760, "EIT, ablation 5.2: increasing"},
      {"eit34-mini-invariant-cifar10", Mini(v1::EitConfig::INVARIANT), 3'629'480, "EIT, ablation 5.3: invariant"},
      {"eit34-mini-no-positions-cifar10", WithoutPositions(Mini()), 3'749'510, "EIT, ablation 6.1: no positions"},
      // Variants of models in the paper's tables. They use each image's native size.
      {"eit33-mini-cifar10-native", NativeEit33(kEitMini), 3'774'760, "EIT, EIT3/3-Mini"},
      {"eit33-tiny-cifar10-native", NativeEit33(kEitTiny), 10'601'530, "EIT, EIT3/3-Tiny"},
      {"eit33-base-cifar10-native", NativeEit33(kEitBase), 19'553'610, "EIT, EIT3/3-Base"},
      {"eit34-mini-tiny-imagenet-native", Eit(TinyImageNet(4), 4, kEitMini), 3'813'450, "EIT, EIT3/4-Mini, 200 classes"},
      {"eit34-mini-fashion-mnist-native", Eit(FashionMnist(4), 4, kEitMini), 3'761'260, "EIT, EIT3/4-Mini, one channel"},
      // clang-format on
  };
}

}  // namespace vitrine::zoo
