// SPDX-License-Identifier: Apache-2.0
#include "client/load/workload/arrivals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace vitrine {
namespace {

std::vector<Arrival> Take(Arrivals& arrivals, size_t count) {
  std::vector<Arrival> taken;
  while (taken.size() < count) {
    const std::optional<Arrival> next = arrivals.Next();
    if (!next.has_value()) break;
    taken.push_back(*next);
  }
  return taken;
}

TEST(ArrivalsAtRate, ConstantGapsAreEqualAndDoNotDrift) {
  const auto arrivals = ArrivalsAtRate(ArrivalProcess::kConstant, 3000, 1);
  const std::vector<Arrival> taken = Take(*arrivals, 30001);
  for (size_t i = 0; i < taken.size(); ++i) {
    EXPECT_EQ(taken[i].number, i);
    EXPECT_NEAR(static_cast<double>(taken[i].due), static_cast<double>(i) * 1e9 / 3000, 1);
  }
  EXPECT_EQ(taken.back().due, 10'000'000'000);
}

TEST(ArrivalsAtRate, PoissonGapsAreExponential) {
  constexpr double kRate = 500;
  constexpr size_t kCount = 20000;
  const auto arrivals = ArrivalsAtRate(ArrivalProcess::kPoisson, kRate, 42);
  const std::vector<Arrival> taken = Take(*arrivals, kCount);
  std::vector<double> gaps;
  for (size_t i = 1; i < taken.size(); ++i) {
    gaps.push_back(static_cast<double>(taken[i].due - taken[i - 1].due) / 1e9);
  }
  const double mean = std::accumulate(gaps.begin(), gaps.end(), 0.0) / static_cast<double>(gaps.size());
  EXPECT_NEAR(mean * kRate, 1, 4 / std::sqrt(kCount));
  // Kolmogorov-Smirnov test at level 0.001 for the largest distance between the distribution of the gaps and the
  // exponential distribution.
  std::sort(gaps.begin(), gaps.end());
  double distance = 0;
  for (size_t i = 0; i < gaps.size(); ++i) {
    const double expected = 1 - std::exp(-kRate * gaps[i]);
    distance = std::max(distance, std::abs(expected - static_cast<double>(i + 1) / static_cast<double>(gaps.size())));
  }
  EXPECT_LT(distance, 1.95 / std::sqrt(static_cast<double>(gaps.size())));
}

TEST(ArrivalsAtRate, TheSameSeedGivesTheSameSchedule) {
  const auto dues = [](uint64_t seed) {
    std::vector<int64_t> result;
    const auto arrivals = ArrivalsAtRate(ArrivalProcess::kPoisson, 100, seed);
    for (const Arrival& one : Take(*arrivals, 100)) result.push_back(one.due);
    return result;
  };
  EXPECT_EQ(dues(1), dues(1));
  EXPECT_NE(dues(1), dues(2));
}

TEST(LaneOf, LanesTogetherHaveTheWholeSchedule) {
  const auto whole = ArrivalsAtRate(ArrivalProcess::kPoisson, 100, 9);
  const std::vector<Arrival> expected = Take(*whole, 90);
  std::vector<std::vector<Arrival>> lanes;
  for (int lane = 0; lane < 3; ++lane) {
    const auto part = LaneOf(ArrivalsAtRate(ArrivalProcess::kPoisson, 100, 9), lane, 3);
    lanes.push_back(Take(*part, 30));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(lanes[i % 3][i / 3].due, expected[i].due);
    EXPECT_EQ(lanes[i % 3][i / 3].number, i);
  }
}

TEST(LaneOf, AKnownScheduleEndsInEveryLane) {
  const std::vector<Arrival> known = {{5, 0, 2}, {5, 1, 0}, {9, 2, 1}};
  const auto numbers = [&](int lane, int lanes) {
    std::vector<uint64_t> taken;
    const auto part = LaneOf(ArrivalsOf(known), lane, lanes);
    for (const Arrival& one : Take(*part, 9)) taken.push_back(one.number);
    return taken;
  };
  EXPECT_EQ(numbers(0, 1), (std::vector<uint64_t>{0, 1, 2}));
  EXPECT_EQ(numbers(0, 2), (std::vector<uint64_t>{0, 2}));
  EXPECT_EQ(numbers(1, 2), (std::vector<uint64_t>{1}));
}

TEST(ArrivalsOf, ReturnsTheGivenTimesAndThenEnds) {
  const std::vector<Arrival> known = {{5, 0, 2}, {5, 1, 0}, {9, 2, 1}};
  const auto arrivals = ArrivalsOf(known);
  EXPECT_EQ(arrivals->Next()->request, 2u);
  EXPECT_EQ(arrivals->Next()->request, 0u);
  EXPECT_EQ(arrivals->Next()->due, 9);
  EXPECT_FALSE(arrivals->Next().has_value());
  EXPECT_FALSE(arrivals->Next().has_value());
}

}  // namespace
}  // namespace vitrine
