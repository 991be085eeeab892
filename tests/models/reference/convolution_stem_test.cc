// SPDX-License-Identifier: Apache-2.0
// Tests XCiT's stem in training: BatchNorm over a batch of mixed sizes.
#include "models/reference/operators/convolution/convolution_stem.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/models/reference/images.h"

namespace vitrine {
namespace {

using testing::Difference;
using testing::RandomImage;

class Stem : public ::testing::Test {
 protected:
  // The stem has 3 -> 4 -> 8 -> 16 channels and patches of 8 pixels.
  Stem() {
    for (int i = 0; i < 3; ++i) {
      const int outputs = 4 << i, inputs = i == 0 ? 3 : outputs / 2;
      const std::string norm = "norms." + std::to_string(i);
      tensors_["convolutions." + std::to_string(i) + ".weight"] =
          testing::Hashed({outputs, inputs, 3, 3}, 10 + i) * 0.3;
      tensors_[norm + ".weight"] = testing::Hashed({outputs}, 20 + i) * 0.2 + 1;
      tensors_[norm + ".bias"] = testing::Hashed({outputs}, 30 + i) * 0.2;
      tensors_[norm + ".running_mean"] = testing::Hashed({outputs}, 40 + i) * 0.2;
      tensors_[norm + ".running_var"] = testing::Hashed({outputs}, 50 + i) * 0.2 + 1;
    }
  }
  at::Tensor Run(const ImageBatch& images, bool training, bool update = true) const {
    ForwardContext context;
    context.training = training;
    context.update_statistics = update;
    Maps maps = RunsOf(images, 8);
    for (int i = 0; i < 3; ++i) {
      const std::string norm = "norms." + std::to_string(i);
      maps = ConvolveAndNormalize(maps, tensors_.at("convolutions." + std::to_string(i) + ".weight"),
                                  {tensors_.at(norm + ".weight"), tensors_.at(norm + ".bias"),
                                   tensors_.at(norm + ".running_mean"), tensors_.at(norm + ".running_var")},
                                  /*gelu=*/i < 2, context);
    }
    return PixelsOfAll(maps);
  }

  std::map<std::string, at::Tensor> tensors_;
  const ImageBatch images_{RandomImage(3, 24, 40, 1), RandomImage(3, 16, 16, 2), RandomImage(3, 16, 16, 3)};
};

TEST_F(Stem, TrainingStatisticsWeightAllPixelsEqually) {
  const at::NoGradGuard no_grad;
  const at::Tensor mean = tensors_.at("norms.0.running_mean").clone(), var = tensors_.at("norms.0.running_var").clone();
  const at::Tensor y = Run(images_, true);
  std::vector<at::Tensor> pixels;
  for (const at::Tensor& image : images_) {
    pixels.push_back(
        at::conv2d(image.unsqueeze(0), tensors_.at("convolutions.0.weight"), {}, 2, 1).squeeze(0).flatten(1));
  }
  const at::Tensor all = at::cat(pixels, 1);  // [channels, pixels]
  EXPECT_LT(Difference(tensors_.at("norms.0.running_mean"), 0.9 * mean + 0.1 * all.mean(1)), 1e-6);
  EXPECT_LT(Difference(tensors_.at("norms.0.running_var"), 0.9 * var + 0.1 * all.var(1, /*unbiased=*/true)), 1e-6);
  // The output of the last norm has the mean and deviation that the norm's parameters set.
  const at::Tensor bias = tensors_.at("norms.2.bias"), weight = tensors_.at("norms.2.weight");
  EXPECT_LT(Difference(y.mean(0), bias), 1e-5);
  EXPECT_LT(Difference(y.var(0, /*unbiased=*/false).sqrt(), weight.abs()), 1e-3);
}

TEST_F(Stem, TrainingIsRepeatableWithoutStatisticsUpdates) {
  const at::NoGradGuard no_grad;
  const at::Tensor mean = tensors_.at("norms.1.running_mean").clone();
  const at::Tensor first = Run(images_, true, false);
  EXPECT_EQ(Difference(tensors_.at("norms.1.running_mean"), mean), 0);
  EXPECT_EQ(Difference(Run(images_, true, false), first), 0);
}

// If the running statistics equal the batch's, evaluation gives the same output as training.
TEST_F(Stem, EvaluationUsesTheRunningStatistics) {
  const at::NoGradGuard no_grad;
  const at::Tensor in_training = Run(images_, true);
  for (int repeat = 0; repeat < 300; ++repeat) Run(images_, true);
  // The running variance is unbiased: larger by n / (n - 1).
  const int64_t cells[] = {12 * 20 + 2 * 64, 6 * 10 + 2 * 16, 3 * 5 + 2 * 4};
  for (int i = 0; i < 3; ++i) {
    tensors_.at("norms." + std::to_string(i) + ".running_var").mul_((cells[i] - 1.0) / cells[i]);
  }
  EXPECT_LT(Difference(Run(images_, false), in_training), 1e-4);
}

TEST_F(Stem, PixelsBeyondTheLastCellAreIgnored) {
  const at::NoGradGuard no_grad;
  const at::Tensor large = RandomImage(3, 23, 31, 4);
  const at::Tensor cut = large.narrow(1, 0, 16).narrow(2, 0, 24);
  EXPECT_EQ(Run({large}, false).sizes(), at::IntArrayRef({6, 16}));
  EXPECT_EQ(Difference(Run({large}, false), Run({cut}, false)), 0);
}

}  // namespace
}  // namespace vitrine
