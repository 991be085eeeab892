// SPDX-License-Identifier: Apache-2.0
#include "server/registry/version/compute_times.h"

#include <gtest/gtest.h>

#include <cmath>

namespace vitrine {
namespace {

ComputeTimes Batches(int batches, int64_t images, absl::Duration each) {
  ComputeRecord record;
  for (int b = 0; b < batches; ++b) record.Add(images, each);
  return record.Read();
}

TEST(ComputeTimes, AreComparedPerImage) {
  const ComputeTimes slow = Batches(50, 4, absl::Milliseconds(12)), fast = Batches(80, 4, absl::Milliseconds(4));
  EXPECT_NEAR(Compare(slow, fast).ratio, 3, 1e-9);
  EXPECT_EQ(Compare(slow, fast).images, 200) << "the count is that of the version with fewer images";
  EXPECT_NEAR(Compare(fast, slow).ratio, 1 / 3.0, 1e-9);
}

TEST(ComputeTimes, OnlyBatchesOfTheSameSizeAreCompared) {
  ComputeRecord canary, stable;
  for (int b = 0; b < 100; ++b) {
    canary.Add(1, absl::Milliseconds(10));
    stable.Add(1, absl::Milliseconds(10));
    stable.Add(32, absl::Milliseconds(32));
  }
  EXPECT_NEAR(Compare(canary.Read(), stable.Read()).ratio, 1, 1e-9)
      << "the larger batches of the stable version do not count";
  EXPECT_EQ(Compare(canary.Read(), stable.Read()).images, 100);
  EXPECT_EQ(Compare(canary.Read(), Batches(100, 32, absl::Milliseconds(1))).images, 0);
  EXPECT_EQ(Compare(canary.Read(), Batches(100, 32, absl::Milliseconds(1))).ratio, 0);
  EXPECT_EQ(Compare(Batches(1, 200, absl::Seconds(1)), Batches(1, 4000, absl::Seconds(1))).images, 200)
      << "batches of 128 and more images count as one size";
}

TEST(ComputeTimes, EachSizeHasTheWeightOfTheImagesInBoth) {
  ComputeRecord canary, stable;
  for (int b = 0; b < 90; ++b) {
    canary.Add(1, absl::Milliseconds(4));
    stable.Add(1, absl::Milliseconds(1));
  }
  for (int b = 0; b < 1000; ++b) canary.Add(2, absl::Seconds(1));
  for (int b = 0; b < 5; ++b) stable.Add(2, absl::Seconds(4));
  EXPECT_EQ(Compare(canary.Read(), stable.Read()).images, 100);
  EXPECT_NEAR(Compare(canary.Read(), stable.Read()).ratio, std::pow(4, 0.9 - 0.1), 1e-9);
}

TEST(ComputeTimes, OneSlowBatchHasLittleWeight) {
  ComputeRecord canary;
  canary.Add(1, absl::Seconds(1));
  for (int b = 0; b < 99; ++b) canary.Add(1, absl::Milliseconds(10));
  EXPECT_LT(Compare(canary.Read(), Batches(100, 1, absl::Milliseconds(10))).ratio, 1.05);
}

TEST(ComputeTimes, EarlierTimesCanBeSubtracted) {
  ComputeRecord record;
  record.Add(1, absl::Seconds(5));
  const ComputeTimes before = record.Read();
  for (int b = 0; b < 10; ++b) record.Add(1, absl::Milliseconds(10));
  const ComputeComparison compared = Compare(record.Read() - before, Batches(10, 1, absl::Milliseconds(10)));
  EXPECT_EQ(compared.images, 10);
  EXPECT_NEAR(compared.ratio, 1, 1e-9);
}

}  // namespace
}  // namespace vitrine
