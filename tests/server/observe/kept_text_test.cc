// SPDX-License-Identifier: Apache-2.0
#include "server/pages/kept_text.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace vitrine {
namespace {

constexpr absl::Duration kPeriod = absl::Milliseconds(250);

class KeptTextTest : public ::testing::Test {
 protected:
  int Get() { return std::stoi(text_.Get()); }

  FakeClock clock_;
  int made_ = 0;
  RateLimitedText text_{clock_, kPeriod, [this] { return std::to_string(++made_); }};
};

TEST_F(KeptTextTest, IsNewForOccasionalReaders) {
  for (int i = 1; i <= 10; ++i) {
    EXPECT_EQ(Get(), i);
    clock_.Advance(kPeriod);
  }
}

TEST_F(KeptTextTest, IsNewForTwoConsecutiveReads) {
  EXPECT_EQ(Get(), 1);
  EXPECT_EQ(Get(), 2);
}

TEST_F(KeptTextTest, IsMadeOncePerPeriodForConstantReaders) {
  for (int i = 0; i < 1000; ++i) {  // simulates ten seconds
    EXPECT_EQ(Get(), made_);
    clock_.Advance(absl::Milliseconds(10));
  }
  EXPECT_GE(made_, 40);
  EXPECT_LE(made_, 40 + 8);
}

// Even after an hour without reads, the text is made at most eight times in a row.
TEST_F(KeptTextTest, AQuietPeriodDoesNotIncreaseTheBurst) {
  Get();
  clock_.Advance(absl::Hours(1));
  for (int i = 0; i < 100; ++i) Get();
  EXPECT_EQ(made_, 1 + 8);
}

TEST_F(KeptTextTest, IsMadeByOneThreadAtATime) {
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([this] {
      for (int j = 0; j < 50; ++j) {
        text_.Get();
        clock_.Advance(kPeriod);
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_GE(made_, 50);
  EXPECT_LE(made_, 400);
}

}  // namespace
}  // namespace vitrine
