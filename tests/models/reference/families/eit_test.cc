// SPDX-License-Identifier: Apache-2.0
// Tests the particular features of EIT and its baselines.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/layer_norm.h>
#include <gtest/gtest.h>

#include <map>

#include "models/reference/float_arrays.h"
#include "models/reference/operators/convolution/grid_convolution.h"
#include "models/zoo.h"
#include "tests/models/reference/images.h"

namespace vitrine {
namespace {

using testing::Difference;

TEST(Eit, GridsAreCroppedAndNotPadded) {
  const auto three = *MakeModel(FindVariant("eit33-mini-cifar10")->config, 0, at::kMeta);
  EXPECT_EQ(*three->GridFor(32, 32), (Grid{10, 10}));
  const auto four = *MakeModel(FindVariant("eit34-mini-cifar10")->config, 0, at::kMeta);
  EXPECT_EQ(*four->GridFor(32, 32), (Grid{8, 8}));
  EXPECT_EQ(*four->GridFor(24, 48), (Grid{6, 12}));
  EXPECT_EQ(four->GridFor(20, 20).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(four->GridFor(52, 52).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Eit, ConvolutionsIgnoreAndKeepTheClassToken) {
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

// In training, the BatchNorm of the convolution branch uses the cells of all images in the batch, but no class tokens.
TEST(Eit, BatchNormUsesOnlyTheCellsOfTheBatch) {
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

TEST(Eit, ComparisonModelsHaveThePublishedGrids) {
  const auto overlapping = *MakeModel(FindVariant("cvt-p-mini-cifar10")->config, 0, at::kMeta);
  EXPECT_EQ(*overlapping->GridFor(32, 32), (Grid{16, 16}));
  EXPECT_EQ(overlapping->cell(), 2);
  const auto stem = *MakeModel(FindVariant("vit-c-mini-cifar10")->config, 0, at::kMeta);
  EXPECT_EQ(*stem->GridFor(32, 32), (Grid{8, 8}));
  EXPECT_EQ(stem->attention().Find(v1::CLASS_TOKEN_ROW)->layers, 4) << "one block less than the others";
}

// The output size of the stem equals the model's grid even if the image sides are not multiples of the cell size.
TEST(Eit, OddSidesGiveTheAnnouncedGrid) {
  for (const std::string_view variant : {"cvt-p-mini-cifar10", "vit-c-mini-cifar10"}) {
    const auto model = testing::MakeHashed(FindVariant(variant)->config);
    EXPECT_TRUE(RunModel(*model, {testing::RandomImage(3, 35, 29, 1), testing::RandomImage(3, 33, 38, 2)}).ok())
        << variant;
  }
}

TEST(Eit, ContradictoryOptionsAreRefused) {
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
