// SPDX-License-Identifier: Apache-2.0
#include "trainer/augment/mixing.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/imaging/geometry.h"
#include "trainer/augment/repeats.h"

namespace vitrine {
namespace {

constexpr int kClasses = 10;
constexpr double kSmoothing = 0.1;

v1::Mixing Settings(float mixup, float cutmix) {
  v1::Mixing mixing;
  mixing.set_mixup_alpha(mixup);
  mixing.set_cutmix_alpha(cutmix);
  return mixing;
}

// Returns a batch in which image i has the label i and the value i in every pixel.
TrainingBatch Plain(const std::vector<Size>& sizes) {
  TrainingBatch batch;
  batch.samples = static_cast<int64_t>(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    batch.images.push_back(at::full({3, sizes[i].height, sizes[i].width}, static_cast<float>(i), at::kFloat));
  }
  batch.labels = at::arange(batch.samples, at::kLong) % kClasses;
  return batch;
}

TrainingBatch Mixed(const v1::Mixing& mixing, TrainingBatch batch, int64_t index) {
  CounterRandom random = RandomOfBatch(1, 0, index);
  MixBatch(mixing, kSmoothing, kClasses, random, batch);
  return batch;
}

float Target(const TrainingBatch& batch, int64_t image, int64_t label) {
  return batch.targets[image][label].item<float>();
}

// Returns the target value for the label of an unmixed image.
double On() {
  return 1 - kSmoothing + kSmoothing / kClasses;
}

TEST(MixBatch, MixupBlendsImagesAndTargetsEqually) {
  double mean = 0, square = 0;
  constexpr int kBatches = 2000;
  for (int i = 0; i < kBatches; ++i) {
    const TrainingBatch batch = Mixed(Settings(0.8F, 0), Plain(std::vector<Size>(4, {3, 2})), i);
    // Image 0 is mixed with image 3, which has the share 1 - lambda.
    const double lambda = 1 - batch.images[0][0][0][0].item<float>() / 3;
    for (int image = 0; image < 4; ++image) {
      const int partner = 3 - image;
      const double expected = lambda * image + (1 - lambda) * partner;
      EXPECT_LT((batch.images[image] - expected).abs().max().item<double>(), 1e-5);
      EXPECT_NEAR(Target(batch, image, image), kSmoothing / kClasses + (1 - kSmoothing) * lambda, 1e-5);
      EXPECT_NEAR(Target(batch, image, partner), kSmoothing / kClasses + (1 - kSmoothing) * (1 - lambda), 1e-5);
      EXPECT_NEAR(batch.targets[image].sum().item<double>(), 1, 1e-5);
    }
    mean += lambda / kBatches;
    square += (lambda - 0.5) * (lambda - 0.5) / kBatches;
  }
  EXPECT_NEAR(mean, 0.5, 0.03);
  EXPECT_NEAR(square, 1 / (4 * 2.6), 0.006) << "of Beta(0.8, 0.8)";
}

TEST(MixBatch, CutMixExchangesARectangleAndCountsItsArea) {
  double mean_cut = 0;
  bool clipped = false, whole = false;
  constexpr int kBatches = 1500;
  for (int i = 0; i < kBatches; ++i) {
    const TrainingBatch batch = Mixed(Settings(0, 1), Plain(std::vector<Size>(2, {12, 20})), i);
    const at::Tensor cut = batch.images[0][0] == 1;  // [12, 20]
    EXPECT_TRUE(((batch.images[0] == 1) == cut).all().item<bool>()) << "the same in every channel";
    EXPECT_TRUE(((batch.images[1][0] == 0) == cut).all().item<bool>()) << "an exchange";
    const int64_t rows = cut.any(1).sum().item<int64_t>(), columns = cut.any(0).sum().item<int64_t>();
    EXPECT_EQ(cut.sum().item<int64_t>(), rows * columns) << "a full rectangle";
    const double share = static_cast<double>(rows * columns) / 240;
    for (int image = 0; image < 2; ++image) {
      EXPECT_NEAR(Target(batch, image, image), kSmoothing / kClasses + (1 - kSmoothing) * (1 - share), 1e-5);
      EXPECT_NEAR(Target(batch, image, 1 - image), kSmoothing / kClasses + (1 - kSmoothing) * share, 1e-5);
    }
    mean_cut += share / kBatches;
    clipped |= share > 0 && cut[0].any().item<bool>() && rows < 8;
    whole |= rows > 6 && !cut[0].any().item<bool>() && !cut[11].any().item<bool>();
  }
  EXPECT_TRUE(clipped);
  EXPECT_TRUE(whole);
  // 1 - lambda is uniform. A rectangle of side r = sqrt(1 - lambda) around a uniformly distributed centre keeps r (1 -
  // r / 4) of each side after clipping. Therefore it covers E[r^2 (1 - r/4)^2] = 1/2 - 2/10 + 1/48 of the image, except
  // for rounding to whole pixels.
  EXPECT_NEAR(mean_cut, 0.5 - 0.2 + 1 / 48.0, 0.05);
}

TEST(MixBatch, MixesOnlyNeighboursOfEqualSize) {
  const std::vector<Size> sizes = {{4, 4}, {4, 4}, {4, 4}, {4, 6}, {6, 4}, {6, 4}};
  const int partners[] = {2, 1, 0, 3, 5, 4};
  for (const auto& mixing : {Settings(1, 0), Settings(0, 1)}) {
    for (int i = 0; i < 50; ++i) {
      const TrainingBatch batch = Mixed(mixing, Plain(sizes), i);
      for (int image = 0; image < 6; ++image) {
        const at::Tensor& x = batch.images[image];
        EXPECT_GE(x.min().item<double>(), std::min(image, partners[image]) - 1e-5);
        EXPECT_LE(x.max().item<double>(), std::max(image, partners[image]) + 1e-5);
        for (int label = 0; label < kClasses; ++label) {
          if (label == image || label == partners[image]) continue;
          EXPECT_NEAR(Target(batch, image, label), 0.01, 1e-6);
        }
      }
      for (const int alone : {1, 3}) EXPECT_NEAR(Target(batch, alone, alone), On(), 1e-6);
    }
  }
}

TEST(MixBatch, FillsTargetsOfUnmixedBatches) {
  v1::Mixing mixing = Settings(0.8F, 1);
  mixing.set_probability(0.3F);
  int mixed = 0;
  for (int i = 0; i < 1000; ++i) {
    const TrainingBatch batch = Mixed(mixing, Plain(std::vector<Size>(2, {4, 4})), i);
    const bool untouched = (batch.images[0] == 0).all().item<bool>();
    mixed += Target(batch, 0, 0) < On() - 1e-6;
    EXPECT_TRUE(!untouched || std::abs(Target(batch, 0, 0) - On()) < 1e-6);
    EXPECT_NEAR(batch.targets[0].sum().item<double>(), 1, 1e-5);
  }
  EXPECT_NEAR(mixed, 300, 60);
}

TEST(MixBatch, SwitchesBetweenMixupAndCutMix) {
  for (const float share : {0.0F, 0.25F, 1.0F}) {
    v1::Mixing mixing = Settings(0.8F, 1);
    mixing.set_switch_to_cutmix(share);
    int cut = 0;
    for (int i = 0; i < 1000; ++i) {
      const TrainingBatch batch = Mixed(mixing, Plain(std::vector<Size>(2, {8, 8})), i);
      const at::Tensor& x = batch.images[0];
      cut += ((x == 0) + (x == 1)).all().item<bool>();  // true for CutMix; mixup blends the values
    }
    EXPECT_NEAR(cut, 1000 * share, share == 0 || share == 1 ? 3 : 70) << share;
  }
}

TEST(Mixes, IfEitherAlphaIsSet) {
  EXPECT_FALSE(Mixes({}));
  EXPECT_TRUE(Mixes(Settings(0.1F, 0)));
  EXPECT_TRUE(Mixes(Settings(0, 0.1F)));
  const TrainingBatch batch = Mixed({}, Plain(std::vector<Size>(2, {4, 4})), 0);
  EXPECT_NEAR(Target(batch, 1, 1), On(), 1e-6);
}

}  // namespace
}  // namespace vitrine
