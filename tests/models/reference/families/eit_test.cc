// SPDX-License-Identifier: Apache-2.0
// Tests the particular features of EIT and its baselines.
#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/max.h>
#include <ATen/ops/relu.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "models/reference/float_arrays.h"
#include "models/reference/operators/convolution/grid_convolution.h"
#include "models/zoo.h"
#include "tests/models/reference/images.h"

namespace vitrine {
namespace {

using testing::Difference;

// Numbers of channels that convolve and attend in each block, derived from the parameters' shapes.
struct Channels {
  std::vector<int64_t> attended;
  std::vector<int64_t> convolved;
};

Channels ChannelsOf(std::string_view variant) {
  const auto model = *MakeModel(FindVariant(variant)->config, 0, at::kMeta);
  std::map<std::string, int64_t> sizes;
  for (const NamedTensor& parameter : model->Parameters()) sizes[parameter.name] = parameter.tensor.size(0);
  Channels channels;
  for (int i = 0;; ++i) {
    const std::string block = "blocks." + std::to_string(i);
    if (!sizes.contains(block + ".norm.weight")) break;
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
  EXPECT_EQ(ChannelsOf("eit34-tiny-cifar10").convolved, (std::vector<int64_t>{290, 250, 210, 170, 130, 90, 50, 0}));
  EXPECT_EQ(ChannelsOf("eit34-base-cifar10").convolved,
            (std::vector<int64_t>{368, 320, 288, 240, 208, 160, 128, 80, 48, 0}));
  EXPECT_EQ(SumOfSquares(ChannelsOf("eit-p-mini-cifar10").convolved), 0);
}

TEST(Eit, SchedulesOfTheAblations) {
  EXPECT_EQ(ChannelsOf("eit34-mini-increasing-cifar10").attended, (std::vector<int64_t>{200, 150, 100, 50, 250}));
  EXPECT_EQ(ChannelsOf("eit34-mini-invariant-cifar10").attended, (std::vector<int64_t>{120, 120, 120, 120, 250}));
  EXPECT_EQ(ChannelsOf("eit34-mini-parallel-cifar10").attended, (std::vector<int64_t>(5, 250)));
  EXPECT_EQ(ChannelsOf("eit34-mini-parallel-cifar10").convolved, (std::vector<int64_t>(5, 250)));
  EXPECT_EQ(ChannelsOf("lsra-mini-cifar10").attended, (std::vector<int64_t>(5, 120)));
  EXPECT_EQ(ChannelsOf("lsra-mini-cifar10").convolved, (std::vector<int64_t>(5, 130)));
}

// Each block has 4a^2 + 4a + 9c^2 + 8C^2 + 9C parameters.
TEST(Eit, BlocksHaveTheParametersOfTheFormula) {
  for (const std::string_view variant : {"eit34-mini-cifar10", "eit33-tiny-cifar10", "eit34-base-cifar10"}) {
    const auto model = *MakeModel(FindVariant(variant)->config, 0, at::kMeta);
    const Channels channels = ChannelsOf(variant);
    std::vector<int64_t> counted(channels.attended.size());
    for (const NamedTensor& parameter : model->Parameters()) {
      if (!parameter.name.starts_with("blocks.")) continue;
      counted[std::stoi(parameter.name.substr(std::string("blocks.").size()))] += parameter.tensor.numel();
    }
    const int64_t width = model->config().eit().width();
    for (size_t i = 0; i < counted.size(); ++i) {
      const int64_t a = channels.attended[i], c = channels.convolved[i];
      EXPECT_EQ(counted[i], 4 * a * a + 4 * a + 9 * c * c + 8 * width * width + 9 * width) << variant << " block " << i;
    }
  }
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
  const at::Tensor weight = testing::Hashed({10, 3, 3, 10}, 3);
  const at::Tensor x = testing::Hashed({layout->total_tokens(), 10}, 1);
  const at::Tensor y = ConvolveGrids({x, layout}, weight, {});
  at::Tensor moved = x.clone();
  for (int image = 0; image < 2; ++image) {
    EXPECT_EQ(Difference(y[layout->offset(image)], x[layout->offset(image)]), 0);
    moved[layout->offset(image)].add_(5);
  }
  const at::Tensor after = ConvolveGrids({moved, layout}, weight, {});
  EXPECT_EQ(Difference(after.narrow(0, 1, 6), y.narrow(0, 1, 6)), 0);
  EXPECT_EQ(Difference(after.narrow(0, 8, 16), y.narrow(0, 8, 16)), 0);
}

TEST(Eit, PatchesOfAConvolutionStartWithinPyTorchsBound) {
  const auto model = *MakeModel(FindVariant("eit34-mini-cifar10")->config, 1);
  for (const NamedTensor& parameter : model->Parameters()) {
    if (!parameter.name.starts_with("patches.")) continue;
    const double largest = parameter.tensor.abs().max().item<double>(), bound = 1 / std::sqrt(9.0 * 3);
    EXPECT_LE(largest, bound) << parameter.name;
    EXPECT_GT(largest, 0.9 * bound) << parameter.name;
  }
}

// In training, the branch's BatchNorm uses the cells of the batch without class tokens.
TEST(Eit, BnReluNormalisesOverTheCellsOfTheBatch) {
  const auto model = testing::MakeHashed(
      testing::Config("classes: 5 preprocessing { channels: 3 native { cell: 4 min_tokens: 1 max_tokens: 64 } } eit { "
                      "width: 24 depth: 3 "
                      "heads: 2 mlp_width: 16 pool: 4 grid_rows: 3 grid_columns: 3 convolution: BN_RELU }"));
  std::map<std::string, at::Tensor> tensors;
  for (const NamedTensor& each : model->Parameters()) tensors[each.name] = each.tensor;
  for (const NamedTensor& each : model->Buffers()) tensors[each.name] = each.tensor;
  const std::string block = "blocks.1.";
  const at::Tensor mean = tensors.at(block + "convolution.batch_norm.running_mean");
  const at::Tensor before = mean.clone();
  ForwardContext context;
  context.training = true;
  TokenTap tap;
  tap.Request(0);
  context.tokens = &tap;
  const ImageBatch images{testing::RandomImage(3, 12, 12, 1), testing::RandomImage(3, 16, 20, 2)};
  context.update_statistics = false;
  const at::Tensor logits = model->Forward(images, context);
  EXPECT_EQ(Difference(mean, before), 0) << "a replica moved the statistics";
  context.update_statistics = true;
  EXPECT_EQ(Difference(model->Forward(images, context), logits), 0);
  const PackedTokens x{TensorOf(tap.Find(0)->data), tap.Find(0)->layout};
  const at::Tensor u =
      at::layer_norm(x.data, {24}, tensors.at(block + "norm.weight"), tensors.at(block + "norm.bias"), 1e-6);
  const at::Tensor weight = tensors.at(block + "convolution.weight");
  const at::Tensor y = ConvolveGrids({u.narrow(1, 0, weight.size(0)), x.layout}, weight, context);
  const at::Tensor cells = at::cat({y.narrow(0, 1, 9), y.narrow(0, 11, 20)});
  EXPECT_LT(Difference(mean, 0.9 * before + 0.1 * cells.mean(0)), 1e-5);
}

TEST(Eit, GridsOfTheComparisonModels) {
  const auto overlapping = *MakeModel(FindVariant("cvt-p-mini-cifar10")->config, 0, at::kMeta);
  EXPECT_EQ(*overlapping->GridFor(32, 32), (Grid{16, 16}));
  EXPECT_EQ(overlapping->cell(), 2);
  const auto stem = *MakeModel(FindVariant("vit-c-mini-cifar10")->config, 0, at::kMeta);
  EXPECT_EQ(*stem->GridFor(32, 32), (Grid{8, 8}));
  EXPECT_EQ(stem->attention().Find(v1::CLASS_TOKEN_ROW)->layers, 4) << "one block less than the others";
}

// The convolution's output size and the grid agree even if sides are not multiples of the cell.
TEST(Eit, OddSidesMakeTheGridThatIsPromised) {
  for (const std::string_view variant : {"cvt-p-mini-cifar10", "vit-c-mini-cifar10"}) {
    const auto model = testing::MakeHashed(FindVariant(variant)->config);
    EXPECT_TRUE(RunModel(*model, {testing::RandomImage(3, 35, 29, 1), testing::RandomImage(3, 33, 38, 2)}).ok())
        << variant;
  }
}

TEST(Eit, OptionsThatContradictEachOtherAreRefused) {
  for (const auto& [change, names] : std::vector<std::pair<std::string, std::string>>{
           {"conv_channels: false schedule: INVARIANT", "config.eit.schedule"},
           {"conv_channels: false convolution: BN_RELU", "config.eit.convolution"},
           {"parallel_convolution: true", "conv_channels: false"},
           {"positions: false", "config.eit.grid_rows"},
           {"schedule: 9", "config.eit.schedule"},
           {"depth: 26", "block 1 of 26"},
       }) {
    v1::ModelConfig config = FindVariant("eit34-mini-cifar10")->config;
    config.MergeFrom(testing::Config("eit { " + change + " }"));
    const absl::Status status = MakeModel(config, 0, at::kMeta).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << change;
    EXPECT_NE(std::string(status.message()).find(names), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace vitrine
