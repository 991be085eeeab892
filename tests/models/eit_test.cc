// What is particular to EIT.
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <map>

#include "models/layers/grid_convolution.h"
#include "models/zoo.h"
#include "tests/models/pictures.h"

namespace vitrine {
namespace {

using testing::Difference;

// Channels that convolve and attend in each block, read off the parameters' shapes.
struct Channels {
  std::vector<int64_t> attended;
  std::vector<int64_t> convolved;
};

Channels ChannelsOf(std::string_view variant) {
  const auto model = *MakeModel(FindVariant(variant)->config, 0, at::kMeta);
  std::map<std::string, int64_t> sizes;
  for (const NamedTensor& parameter : model->Parameters()) sizes[parameter.name] = parameter.tensor.size(0);
  Channels channels;
  for (int i = 0; i < model->config().eit().depth(); ++i) {
    const std::string block = "blocks." + std::to_string(i);
    channels.attended.push_back(sizes.at(block + ".attention.proj.weight"));
    channels.convolved.push_back(sizes.contains(block + ".convolution.weight") ? sizes.at(block + ".convolution.weight")
                                                                               : 0);
  }
  return channels;
}

int64_t SumOfSquares(const std::vector<int64_t>& values) {
  int64_t sum = 0;
  for (const int64_t value : values) sum += value * value;
  return sum;
}

TEST(Eit, SharesOfTheChannelsAreThePapers) {
  const Channels mini = ChannelsOf("eit34-mini-cifar10");
  EXPECT_EQ(mini.attended, (std::vector<int64_t>{50, 100, 150, 200, 250}));
  EXPECT_EQ(mini.convolved, (std::vector<int64_t>{200, 150, 100, 50, 0}));
  EXPECT_EQ(SumOfSquares(mini.convolved), 75'000);
  EXPECT_EQ(SumOfSquares(mini.attended), 137'500);
  EXPECT_EQ(ChannelsOf("eit34-tiny-cifar10").attended, (std::vector<int64_t>{40, 80, 120, 160, 200, 240, 280, 330}));
  EXPECT_EQ(ChannelsOf("eit34-base-cifar10").attended,
            (std::vector<int64_t>{32, 80, 112, 160, 192, 240, 272, 320, 352, 400}));
  EXPECT_EQ(SumOfSquares(ChannelsOf("eit-p-mini-cifar10").convolved), 0);
}

TEST(Eit, GridsAreCutNotPadded) {
  const auto three = *MakeModel(FindVariant("eit33-mini-cifar10")->config, 0, at::kMeta);
  EXPECT_EQ(*three->GridFor(32, 32), (Grid{10, 10}));
  const auto four = *MakeModel(FindVariant("eit34-mini-cifar10")->config, 0, at::kMeta);
  EXPECT_EQ(*four->GridFor(32, 32), (Grid{8, 8}));
  EXPECT_EQ(*four->GridFor(24, 48), (Grid{6, 12}));
  EXPECT_EQ(four->GridFor(20, 20).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(four->GridFor(52, 52).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Eit, TheClassTokenPassesTheConvolutionUnchangedAndUnseen) {
  const auto layout = TokenLayout::Make({{2, 3}, {4, 4}}, 1);
  Initializer initializer(1, at::kCPU);
  const GridConvolution convolution(10, initializer);
  const at::Tensor x = testing::Hashed({layout->total_tokens(), 10}, 1);
  const at::Tensor y = convolution.Forward({x, layout}, {});
  at::Tensor moved = x.clone();
  for (int image = 0; image < 2; ++image) {
    EXPECT_EQ(Difference(y[layout->offset(image)], x[layout->offset(image)]), 0);
    moved[layout->offset(image)].add_(5);
  }
  const at::Tensor after = convolution.Forward({moved, layout}, {});
  EXPECT_EQ(Difference(after.narrow(0, 1, 6), y.narrow(0, 1, 6)), 0);
  EXPECT_EQ(Difference(after.narrow(0, 8, 16), y.narrow(0, 8, 16)), 0);
}

}  // namespace
}  // namespace vitrine
