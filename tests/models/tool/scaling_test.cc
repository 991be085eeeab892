// SPDX-License-Identifier: Apache-2.0
#include "models/tool/describe/scaling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "models/tool/describe/peak_memory.h"

namespace vitrine {
namespace {

TEST(PowerOf, IsTheSlopeOfTheLogarithms) {
  EXPECT_NEAR(PowerOf(std::vector<std::pair<double, double>>{{2, 12}, {5, 75}, {100, 30000}}), 2, 1e-12);
  EXPECT_NEAR(PowerOf(std::vector<std::pair<double, double>>{{1, 3}, {1, 5}, {16, std::sqrt(15)}}), 0, 1e-12);
}

TEST(PeakBytesOf, CountsMemoryUsedAtTheSameTime) {
  constexpr int64_t kMegabyte = 1 << 20;
  const auto touch = [](int64_t megabytes) {
    const auto bytes = std::make_unique_for_overwrite<volatile char[]>(static_cast<size_t>(megabytes * kMegabyte));
    for (int64_t i = 0; i < megabytes * kMegabyte; i += 4096) bytes[static_cast<size_t>(i)] = 1;
  };
  touch(90);  // an earlier peak does not count
  for (const int64_t megabytes : {40, 10}) {
    const absl::StatusOr<int64_t> peak = PeakBytesOf([&] {
      touch(megabytes);
      touch(megabytes / 2);
      return absl::OkStatus();
    });
    ASSERT_TRUE(peak.ok()) << peak.status();
    EXPECT_NEAR(static_cast<double>(*peak), static_cast<double>(megabytes * kMegabyte), 2.0 * kMegabyte);
  }
}

TEST(PeakBytesOf, ReturnsErrors) {
  EXPECT_EQ(PeakBytesOf([] { return absl::InternalError("no"); }).status(), absl::InternalError("no"));
}

}  // namespace
}  // namespace vitrine
