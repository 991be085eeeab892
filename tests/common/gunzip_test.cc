// SPDX-License-Identifier: Apache-2.0
#include "common/gunzip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/common/gzip.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using testing::Deflate;
using testing::Gzip;
using ::testing::HasSubstr;

TEST(Gunzip, ReturnsTheOriginal) {
  for (const std::string& text : {std::string(), std::string("x"), std::string(1 << 20, 'a')}) {
    const std::string packed = Gzip(text);
    EXPECT_TRUE(IsGzip(packed));
    const auto decompressed = Gunzip(packed, text.size());
    ASSERT_TRUE(decompressed.ok()) << decompressed.status();
    EXPECT_TRUE(*decompressed == text);
  }
  EXPECT_FALSE(IsGzip(""));
  EXPECT_FALSE(IsGzip("\x1f\x8b"));
}

TEST(Gunzip, MoreThanTheLimitIsRefusedWithItsSize) {
  const auto refused = Gunzip(Gzip(std::string(1001, 'a')), 1000);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()),
              AllOf(HasSubstr("decompress to 1001"), HasSubstr("at most 1000")));
}

// Tests a gzip bomb whose trailer states a small size.
TEST(Gunzip, AWrongSizeInTheTrailerIsRefused) {
  std::string bomb = Gzip(std::string(16 << 20, '\0'));
  for (const unsigned char claimed : {0, 100}) {
    bomb.replace(bomb.size() - 4, 4, std::string{static_cast<char>(claimed), 0, 0, 0});
    EXPECT_EQ(Gunzip(bomb, 1 << 20).status().code(), absl::StatusCode::kInvalidArgument);
  }
  std::string small = Gzip("x");
  small.replace(small.size() - 4, 4, std::string{0, 0, 16, 0});  // states a size of 1 MiB
  EXPECT_EQ(Gunzip(small, 16 << 20).status().code(), absl::StatusCode::kInvalidArgument);
}

// The last four bytes of a truncated stream do not state its size.
TEST(Gunzip, ATruncatedStreamIsNotCalledTooLarge) {
  std::string noise(10'000, '\0');
  uint32_t state = 1;
  for (char& c : noise) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  const std::string packed = Gzip(noise);
  int checked = 0;
  for (size_t size = packed.size() - 100; size < packed.size(); ++size) {
    const absl::Status refused = Gunzip(packed.substr(0, size), 1 << 20).status();
    if (StatedGunzipSize(packed.substr(0, size)) / 1032 <= size)
      continue;  // skips streams whose last four bytes happen to state a possible size
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
    ++checked;
  }
  EXPECT_GT(checked, 90);
}

TEST(Gunzip, DamageIsRefused) {
  const std::string packed = Gzip("a message of some length, a message of some length");
  for (size_t size = 0; size < packed.size(); ++size) EXPECT_FALSE(Gunzip(packed.substr(0, size), 1000).ok()) << size;
  for (size_t i = 10; i < packed.size(); ++i) {
    std::string flipped = packed;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x55);
    const auto decompressed = Gunzip(flipped, 1000);
    EXPECT_FALSE(decompressed.ok()) << i;
  }
  EXPECT_FALSE(Gunzip(packed + "x", 1 << 30).ok());
  EXPECT_FALSE(Gunzip(packed + packed, 1000).ok());
  EXPECT_FALSE(Gunzip("plain text that is long enough", 1000).ok());
}

TEST(Inflate, TheSizeIsKnownBeforeMemoryIsAllocated) {
  for (const std::string& text : {std::string(), std::string("x"), std::string(1 << 20, 'a')}) {
    const std::string packed = Deflate(text);
    const auto size = SizeOfInflated(packed, text.size());
    ASSERT_TRUE(size.ok()) << size.status();
    EXPECT_EQ(*size, text.size());
    const auto decompressed = Inflate(packed, *size);
    ASSERT_TRUE(decompressed.ok()) << decompressed.status();
    EXPECT_TRUE(*decompressed == text);
  }
  const auto bomb = SizeOfInflated(Deflate(std::string(16 << 20, '\0')), 1 << 20);
  EXPECT_EQ(bomb.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(bomb.status().message()), HasSubstr("decompress to more than the 1048576"));
}

TEST(Inflate, DamageIsRefused) {
  const std::string text = "a message of some length, a message of some length", packed = Deflate(text);
  for (size_t size = 0; size < packed.size(); ++size) {
    EXPECT_EQ(SizeOfInflated(packed.substr(0, size), 1000).status().code(), absl::StatusCode::kInvalidArgument) << size;
    EXPECT_FALSE(Inflate(packed.substr(0, size), text.size()).ok()) << size;
  }
  for (size_t i = 0; i < packed.size(); ++i) {
    std::string flipped = packed;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x55);
    EXPECT_FALSE(SizeOfInflated(flipped, 1000).ok()) << i;
  }
  EXPECT_FALSE(Inflate(packed + "x", text.size()).ok());
  EXPECT_FALSE(Inflate(packed, text.size() - 1).ok());
  EXPECT_FALSE(SizeOfInflated(packed + "x", 1000).ok());
  EXPECT_FALSE(SizeOfInflated(Gzip(text), 1000).ok());
}

}  // namespace
}  // namespace vitrine
