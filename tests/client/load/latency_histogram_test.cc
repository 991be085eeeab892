// SPDX-License-Identifier: Apache-2.0
#include "client/load/latency_histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "client/load/workload/random.h"
#include "tests/stored_text.h"

namespace vitrine {
namespace {

// Returns durations from nanoseconds to minutes, evenly distributed on a logarithmic scale.
std::vector<int64_t> Durations(size_t count, uint64_t seed) {
  std::vector<int64_t> values;
  for (size_t i = 0; i < count; ++i) {
    values.push_back(static_cast<int64_t>(std::exp(25.0 * RandomShare(seed, RandomPurpose::kGap, i))));
  }
  return values;
}

int64_t ExactQuantile(std::vector<int64_t> values, double quantile) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<size_t>(std::ceil(quantile * static_cast<double>(values.size()) - 1e-6));
  return values[std::max<size_t>(1, rank) - 1];
}

void ExpectQuantiles(LatencyHistogram::Precision precision, double error) {
  LatencyHistogram histogram(precision);
  const std::vector<int64_t> values = Durations(20000, 7);
  for (const int64_t value : values) histogram.Record(value);
  for (const double quantile : {0.0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0}) {
    const int64_t exact = ExactQuantile(values, quantile);
    EXPECT_GE(histogram.Quantile(quantile), exact) << quantile;
    EXPECT_LE(static_cast<double>(histogram.Quantile(quantile)), static_cast<double>(exact) * (1 + error)) << quantile;
  }
}

TEST(LatencyHistogram, QuantilesAreExactToThreeDigits) {
  ExpectQuantiles(LatencyHistogram::Precision::kThreeDigits, 0.001);
}

TEST(LatencyHistogram, QuantilesAreExactToTwoDigits) {
  ExpectQuantiles(LatencyHistogram::Precision::kTwoDigits, 0.008);
}

TEST(LatencyHistogram, ValuesNearPowersOfTwoAreCountedCorrectly) {
  for (int bit = 0; bit < 40; ++bit) {
    for (const int64_t value : {(int64_t{1} << bit) - 1, int64_t{1} << bit, (int64_t{1} << bit) + 1}) {
      LatencyHistogram histogram;
      histogram.Record(value);
      histogram.Record(int64_t{1} << 41);  // a larger value, because the histogram stores the largest value exactly
      const int64_t found = histogram.Quantile(0.5);
      EXPECT_GE(found, value);
      EXPECT_LE(found, value + value / 1024);
    }
  }
}

TEST(LatencyHistogram, SmallestLargestMeanAndDeviation) {
  LatencyHistogram histogram;
  for (const int64_t value : {1000, 1010, 1990, 2000}) histogram.Record(value);
  EXPECT_EQ(histogram.min(), 1000);
  EXPECT_EQ(histogram.max(), 2000);
  EXPECT_EQ(histogram.count(), 4u);
  EXPECT_DOUBLE_EQ(histogram.Mean(), 1500);
  EXPECT_NEAR(histogram.Deviation(), 495.1, 0.1);
}

TEST(LatencyHistogram, WithoutValuesAllResultsAreZero) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.Quantile(0.5), 0);
  EXPECT_EQ(histogram.max(), 0);
  EXPECT_EQ(histogram.min(), 0);
  EXPECT_EQ(histogram.Mean(), 0);
  EXPECT_EQ(histogram.Deviation(), 0);
}

TEST(LatencyHistogram, ATooLongDurationCountsAsTheLongestButKeepsTheMaximum) {
  LatencyHistogram histogram;
  histogram.Record(int64_t{1} << 50);
  histogram.Record(-5);
  EXPECT_EQ(histogram.max(), int64_t{1} << 50);
  EXPECT_EQ(histogram.min(), 0);
  EXPECT_EQ(histogram.Quantile(0.5), 0);
  for (int i = 0; i < 3; ++i) histogram.Record(int64_t{1} << 49);
  EXPECT_EQ(histogram.Quantile(0.5), (int64_t{1} << 41) - 1) << "a too long duration must count in the last bucket";
}

TEST(LatencyHistogram, TheSumOfPartsEqualsTheWhole) {
  LatencyHistogram whole, even, odd;
  const std::vector<int64_t> values = Durations(5000, 3);
  for (size_t i = 0; i < values.size(); ++i) {
    whole.Record(values[i]);
    (i % 2 == 0 ? even : odd).Record(values[i]);
  }
  even.Add(odd);
  EXPECT_EQ(even.PercentileTable(), whole.PercentileTable());
  EXPECT_EQ(even.min(), whole.min());
  EXPECT_EQ(even.max(), whole.max());
  even.Add(LatencyHistogram());
  EXPECT_EQ(even.count(), whole.count());
}

TEST(LatencyHistogram, TheTableEqualsTheStoredOne) {
  LatencyHistogram exact, coarse(LatencyHistogram::Precision::kTwoDigits);
  for (int64_t i = 1; i <= 300; ++i) {
    exact.Record(i * i * 10'000);
    coarse.Record(i * i * 10'000);
  }
  ExpectStored("load_percentiles.txt",
               exact.PercentileTable() + coarse.PercentileTable() + LatencyHistogram().PercentileTable());
}

TEST(LatencyHistogram, QuantilesMayIncludeRequestsWithoutAValue) {
  LatencyHistogram histogram;
  for (int i = 1; i <= 990; ++i) histogram.Record(i);
  EXPECT_EQ(histogram.QuantileAmong(0.5, 1000), 500);
  EXPECT_EQ(histogram.QuantileAmong(0.99, 1000), 990);
  EXPECT_EQ(histogram.QuantileAmong(0.991, 1000), std::nullopt);
  EXPECT_EQ(histogram.QuantileAmong(0.991, 990), histogram.Quantile(0.991));
  EXPECT_EQ(LatencyHistogram().QuantileAmong(0.5, 0), std::nullopt);
  EXPECT_EQ(LatencyHistogram().QuantileAmong(0.5, 1), std::nullopt);
  EXPECT_EQ(histogram.CountAbove(980), 10u);
  EXPECT_EQ(histogram.CountAbove(990), 0u);
}

TEST(LatencyHistogram, CompressionDoesNotChangeResults) {
  LatencyHistogram plain, compressed, sum;
  for (int64_t value = 1; value < 3'000'000'000; value = value * 3 / 2 + 1) {
    plain.Record(value);
    compressed.Record(value);
    compressed.Compress();
  }
  sum.Add(compressed);
  for (const LatencyHistogram& one : {compressed, sum}) {
    EXPECT_EQ(one.PercentileTable(), plain.PercentileTable());
    EXPECT_EQ(one.Quantile(0.7), plain.Quantile(0.7));
    EXPECT_EQ(one.CountAbove(1'000'000), plain.CountAbove(1'000'000));
  }
  LatencyHistogram empty;
  empty.Compress();
  EXPECT_EQ(empty.count(), 0u);
}

}  // namespace
}  // namespace vitrine
