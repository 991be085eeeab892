// SPDX-License-Identifier: Apache-2.0
#include "server/trace/span_ids.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace vitrine {
namespace {

// Returns an id whose last 56 bits are `random`.
TraceId IdWith(uint64_t random) {
  TraceId id;
  id.fill(0xff);
  for (size_t i = 0; i < 7; ++i) id[15 - i] = static_cast<uint8_t>(random >> (8 * i));
  return id;
}

TEST(SpanIds, AreConvertedBetweenDigitsAndBytes) {
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736", span = "00f067aa0ba902b7";
  EXPECT_EQ(TraceIdOf(trace)[0], 0x4b);
  EXPECT_EQ(TraceIdOf(trace)[15], 0x36);
  EXPECT_EQ(SpanIdOf(span)[1], 0xf0);
  EXPECT_EQ(Hex(TraceIdOf(trace)), trace);
  EXPECT_EQ(Hex(SpanIdOf(span)), span);
}

TEST(SpanIds, AreUniqueAcrossThreads) {
  constexpr int kThreads = 4, kIds = 1000;
  std::vector<std::set<std::string>> of_thread(kThreads);
  std::vector<std::thread> threads;
  for (auto& ids : of_thread) {
    threads.emplace_back([&ids] {
      for (int i = 0; i < kIds; ++i) ids.insert(Hex(NewTraceId()) + Hex(NewSpanId()));
    });
  }
  std::set<std::string> all;
  for (int i = 0; i < kThreads; ++i) {
    threads[i].join();
    all.insert(of_thread[i].begin(), of_thread[i].end());
  }
  EXPECT_EQ(all.size(), static_cast<size_t>(kThreads) * kIds);
}

TEST(SpanIds, HaveRandomValuesInEveryBit) {
  TraceId ones{}, zeros{};
  for (int i = 0; i < 64; ++i) {
    const TraceId id = NewTraceId();
    for (size_t at = 0; at < id.size(); ++at) {
      ones[at] |= id[at];
      zeros[at] |= static_cast<uint8_t>(~id[at]);
    }
  }
  for (size_t at = 0; at < ones.size(); ++at) {
    EXPECT_EQ(ones[at], 0xff) << at;
    EXPECT_EQ(zeros[at], 0xff) << at;
  }
}

TEST(IsSampled, FollowsTheThresholdOfTheSpecification) {
  constexpr uint64_t kAll = uint64_t{1} << 56;
  EXPECT_TRUE(IsSampled(IdWith(0), 1));
  EXPECT_FALSE(IsSampled(IdWith(kAll - 1), 0));
  EXPECT_TRUE(IsSampled(IdWith(kAll / 2), 0.5));
  EXPECT_FALSE(IsSampled(IdWith(kAll / 2 - 1), 0.5));
  EXPECT_TRUE(IsSampled(IdWith(kAll / 4 * 3), 0.25));
  EXPECT_FALSE(IsSampled(IdWith(kAll / 4 * 3 - 1), 0.25));
}

TEST(IsSampled, IgnoresTheFirstBytes) {
  TraceId id = IdWith(uint64_t{1} << 55);
  for (size_t i = 0; i < 9; ++i) id[i] = 0;
  EXPECT_TRUE(IsSampled(id, 0.5));
}

TEST(IsSampled, ALargerRatioIncludesTheSampleOfASmaller) {
  constexpr int kIds = 20'000;
  int tenth = 0, half = 0;
  for (int i = 0; i < kIds; ++i) {
    const TraceId id = NewTraceId();
    tenth += IsSampled(id, 0.1);
    half += IsSampled(id, 0.5);
    EXPECT_LE(IsSampled(id, 0.1), IsSampled(id, 0.5));
  }
  // The tolerance is six standard deviations.
  EXPECT_NEAR(tenth, kIds * 0.1, 6 * std::sqrt(kIds * 0.1 * 0.9));
  EXPECT_NEAR(half, kIds * 0.5, 6 * std::sqrt(kIds * 0.25));
}

}  // namespace
}  // namespace vitrine
