#include "models/zoo/inputs.h"
#include "models/zoo/rows.h"

namespace vitrine::zoo {
namespace {

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

}  // namespace

std::vector<ZooRow> EitRows() {
  return {
      // clang-format off
      // name, config, parameters, source
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
      // clang-format on
  };
}

}  // namespace vitrine::zoo
