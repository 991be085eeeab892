// SPDX-License-Identifier: Apache-2.0
// What is particular to EIT and the models that it is compared with.
#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/max.h>
#include <ATen/ops/relu.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "models/layers/convolution_branch.h"
#include "models/layers/convolution_patches.h"
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

// 4a^2 + 4a + 9c^2 + 8C^2 + 9C per block.
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

// Every form of the branch against library calls on one image after the other, in fp64.
class Branch : public ::testing::TestWithParam<ConvolutionBranch::Form> {
 protected:
  static constexpr int kChannels = 6;
  Branch() : layout_(TokenLayout::Make({{2, 3}, {4, 4}, {4, 4}}, 1)), branch_(kChannels, GetParam(), initializer_) {
    uint64_t seed = 10;
    for (NamedTensor& tensor : Tensors()) {
      tensor.tensor.copy_(testing::Hashed(tensor.tensor.sizes(), ++seed));
      if (tensor.name.ends_with("running_var")) tensor.tensor.abs_().add_(0.5);
    }
  }

  std::vector<NamedTensor> Tensors() {
    std::vector<NamedTensor> tensors = branch_.Parameters();
    for (const NamedTensor& buffer : branch_.Buffers()) tensors.push_back(buffer);
    return tensors;
  }
  at::Tensor Get(const std::string& name) {
    for (const NamedTensor& tensor : Tensors()) {
      if (tensor.name == name) return tensor.tensor.detach().to(at::kDouble);
    }
    throw std::out_of_range(name);
  }
  // [cells, c] -> [cells, c]
  at::Tensor Convolve(const std::string& name, const at::Tensor& cells, Grid grid) {
    const at::Tensor image = cells.t().reshape({1, kChannels, grid.rows, grid.columns});
    return at::conv2d(image, Get(name).permute({0, 3, 1, 2}), {}, 1, 1).squeeze(0).flatten(1).t();
  }
  at::Tensor Linear(const at::Tensor& x) { return x.matmul(Get("linear.weight").t()) + Get("linear.bias"); }
  at::Tensor Expected(const at::Tensor& x, Grid grid) {
    switch (GetParam()) {
      case ConvolutionBranch::Form::kConv:
        return Convolve("weight", x, grid);
      case ConvolutionBranch::Form::kConvConv:
        return Convolve("third.weight", Convolve("second.weight", Convolve("weight", x, grid), grid), grid);
      case ConvolutionBranch::Form::kGeluConv:
        return Convolve("weight", at::gelu(Linear(x)), grid);
      case ConvolutionBranch::Form::kBnRelu:
        return at::relu((Convolve("weight", x, grid) - Get("batch_norm.running_mean")) /
                            (Get("batch_norm.running_var") + 1e-5).sqrt() * Get("batch_norm.weight") +
                        Get("batch_norm.bias"));
      default:
        return Linear(Convolve("weight", at::gelu(x), grid));
    }
  }

  Initializer initializer_{1, at::kCPU};
  std::shared_ptr<const TokenLayout> layout_;
  ConvolutionBranch branch_;
};

using Form = ConvolutionBranch::Form;
INSTANTIATE_TEST_SUITE_P(Forms, Branch,
                         ::testing::Values(Form::kConv, Form::kConvConv, Form::kGeluConv, Form::kBnRelu,
                                           Form::kGeluConvLinear));

TEST_P(Branch, ComputesItsFormulaAndPassesTheClassToken) {
  const at::Tensor x = testing::Hashed({layout_->total_tokens(), kChannels}, 1);
  ForwardContext library;
  library.library_only = true;
  for (const ForwardContext& context : {ForwardContext(), library}) {
    const at::Tensor y = branch_.Mix({x, layout_}, context);
    for (int image = 0; image < layout_->images(); ++image) {
      const int64_t first = layout_->offset(image) + 1, cells = layout_->grid(image).cells();
      EXPECT_EQ(Difference(y[first - 1], x[first - 1]), 0);
      const at::Tensor expected = Expected(x.narrow(0, first, cells).to(at::kDouble), layout_->grid(image));
      EXPECT_LT(Difference(y.narrow(0, first, cells).to(at::kDouble), expected), 1e-4) << "image " << image;
    }
  }
}

// In training BatchNorm takes the cells of the batch, no class token among them, and its running statistics follow.
TEST(Eit, PatchesOfAConvolutionStartWithinPyTorchsBound) {
  Initializer initializer(1, at::kCPU);
  const ConvolutionPatches patches(3, 2, 64, initializer);
  for (const NamedTensor& parameter : patches.Parameters()) {
    const double largest = parameter.tensor.abs().max().item<double>(), bound = 1 / std::sqrt(9.0 * 3);
    EXPECT_LE(largest, bound) << parameter.name;
    EXPECT_GT(largest, 0.9 * bound) << parameter.name;
  }
}

TEST(BranchInTraining, NormalisesOverTheCellsOfTheBatch) {
  Initializer initializer(1, at::kCPU);
  const ConvolutionBranch branch(4, Form::kBnRelu, initializer);
  const auto layout = TokenLayout::Make({{3, 3}, {4, 5}}, 1);
  const at::Tensor x = testing::Hashed({layout->total_tokens(), 4}, 1);
  ForwardContext context;
  context.training = true;
  context.update_statistics = false;
  const at::Tensor y = branch.Mix({x, layout}, context);
  for (const NamedTensor& buffer : branch.Buffers()) {
    EXPECT_EQ(Difference(buffer.tensor,
                         at::Tensor(buffer.tensor).clone().fill_(buffer.name.ends_with("running_var") ? 1 : 0)),
              0)
        << buffer.name << " moved";
  }
  context.update_statistics = true;
  EXPECT_EQ(Difference(branch.Mix({x, layout}, context), y), 0);
  const at::Tensor convolved = branch.Forward({x, layout}, context);
  const at::Tensor cells = at::cat({convolved.narrow(0, 1, 9), convolved.narrow(0, 11, 20)}).to(at::kDouble);
  const at::Tensor centred = cells - cells.mean(0);
  const at::Tensor expected = at::relu(centred / ((centred * centred).mean(0) + 1e-5).sqrt());
  EXPECT_LT(Difference(at::cat({y.narrow(0, 1, 9), y.narrow(0, 11, 20)}).to(at::kDouble), expected), 1e-4);
  for (const NamedTensor& buffer : branch.Buffers()) {
    if (!buffer.name.ends_with("running_mean")) continue;
    EXPECT_LT(Difference(buffer.tensor.to(at::kDouble), cells.mean(0) * 0.1), 1e-5);
  }
}

TEST(Eit, GridsOfTheComparisonModels) {
  const auto overlapping = *MakeModel(FindVariant("cvt-p-mini-cifar10")->config, 0, at::kMeta);
  EXPECT_EQ(*overlapping->GridFor(32, 32), (Grid{16, 16}));
  EXPECT_EQ(overlapping->cell(), 2);
  const auto stem = *MakeModel(FindVariant("vit-c-mini-cifar10")->config, 0, at::kMeta);
  EXPECT_EQ(*stem->GridFor(32, 32), (Grid{8, 8}));
  EXPECT_EQ(stem->attention().Find(v1::CLASS_TOKEN_ROW)->layers, 4) << "one block less than the others";
}

// The convolution's output size and the grid agree where sides are no multiples of the cell.
TEST(Eit, OddSidesMakeTheGridThatIsPromised) {
  for (const std::string_view variant : {"cvt-p-mini-cifar10", "vit-c-mini-cifar10"}) {
    const auto model = testing::MakeHashed(FindVariant(variant)->config);
    EXPECT_TRUE(RunModel(*model, {testing::Picture(3, 35, 29, 1), testing::Picture(3, 33, 38, 2)}).ok()) << variant;
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
