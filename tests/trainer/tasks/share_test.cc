// SPDX-License-Identifier: Apache-2.0
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "trainer/task.h"

namespace vitrine {
namespace {

TEST(ShareTest, SelectsEveryNthSampleOfEveryTensor) {
  TrainingBatch batch;
  batch.samples = 5;
  for (int i = 0; i < 5; ++i) batch.images.push_back(at::full({1, 2, 2}, i, at::kFloat));
  batch.labels = at::arange(5, at::kLong);
  batch.targets = at::arange(10, at::kFloat).reshape({5, 2});

  const TrainingBatch even = ShareOf(batch, 0, 2), odd = ShareOf(batch, 1, 2);
  EXPECT_EQ(even.samples, 3);
  EXPECT_EQ(odd.samples, 2);
  ASSERT_EQ(odd.images.size(), 2u);
  EXPECT_EQ(odd.images[1][0][0][0].item<float>(), 3);
  EXPECT_TRUE(at::equal(even.labels, at::arange(0, 5, 2, at::kLong)));
  EXPECT_TRUE(at::equal(odd.targets[0], batch.targets[1]));
  EXPECT_TRUE(odd.targets.is_contiguous());
  EXPECT_FALSE(odd.sequences.source.defined());
}

TEST(ShareTest, SelectsTheSameSamplesOfSourceAndTarget) {
  TrainingBatch batch;
  batch.samples = 4;
  batch.sequences.source = at::arange(12, at::kLong).reshape({4, 3});
  batch.sequences.target = at::arange(8, at::kLong).reshape({4, 2});
  batch.labels = batch.sequences.target + 1;
  const TrainingBatch share = ShareOf(batch, 2, 3);
  EXPECT_EQ(share.samples, 1);
  EXPECT_TRUE(at::equal(share.sequences.source, batch.sequences.source.slice(0, 2, 3)));
  EXPECT_TRUE(at::equal(share.sequences.target, batch.sequences.target.slice(0, 2, 3)));
  EXPECT_TRUE(at::equal(share.labels, batch.labels.slice(0, 2, 3)));
}

TEST(ShareTest, IsEmptyBeyondTheSamples) {
  TrainingBatch batch;
  batch.samples = 2;
  batch.labels = at::arange(2, at::kLong);
  EXPECT_EQ(ShareOf(batch, 2, 4).samples, 0);
  EXPECT_EQ(ShareOf(batch, 3, 4).labels.size(0), 0);
}

}  // namespace
}  // namespace vitrine
