// SPDX-License-Identifier: Apache-2.0
#include "server/observe/trace_context.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace vitrine {
namespace {

constexpr char kGood[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(Traceparent, ParsesTheExampleOfTheStandard) {
  const auto trace = ParseTraceparent(kGood);
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(trace->span_id, "00f067aa0ba902b7");
  EXPECT_TRUE(trace->sampled);
  EXPECT_FALSE(ParseTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")->sampled);
  EXPECT_FALSE(ParseTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fe")->sampled)
      << "only the last bit says so";
}

TEST(Traceparent, LaterVersionsMayHaveMoreFields) {
  const std::string rest = std::string(kGood).substr(2);
  EXPECT_TRUE(ParseTraceparent("cc" + rest).has_value());
  EXPECT_TRUE(ParseTraceparent("cc" + rest + "-what-the-future-will-be-like").has_value());
  EXPECT_TRUE(ParseTraceparent("cc" + rest + "-").has_value());
  EXPECT_FALSE(ParseTraceparent("cc" + rest + ".what").has_value());
  EXPECT_FALSE(ParseTraceparent("00" + rest + "-what-the-future-will-be-like").has_value()) << "version 00 ends there";
  EXPECT_FALSE(ParseTraceparent("ff" + rest).has_value()) << "ff is no version";
}

TEST(Traceparent, MalformedHeadersAreIgnored) {
  for (const std::string value : {"", "00", "-", "00-0-0-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
                                  "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
                                  "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-",
                                  "00-00000000000000000000000000000000-00f067aa0ba902b7-01",   // no trace
                                  "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",   // no span
                                  "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",   // upper case
                                  "0 -4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",   //
                                  "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",   //
                                  "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",   // a misplaced dash
                                  "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",   //
                                  " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",  //
                                  "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 "}) {
    EXPECT_FALSE(ParseTraceparent(value).has_value()) << value;
  }
}

// Tries every header that differs from a valid header in one byte, and every shorter header. Each header that is
// accepted must have the documented form.
TEST(Traceparent, EveryAlteredHeaderIsParsedCompletelyOrIgnored) {
  const std::string good = kGood;
  int taken = 0;
  const auto check = [&](const std::string& value) {
    const auto trace = ParseTraceparent(value);
    if (!trace.has_value()) return;
    ++taken;
    EXPECT_EQ(trace->trace_id, value.substr(3, 32));
    EXPECT_EQ(trace->span_id, value.substr(36, 16));
    EXPECT_EQ(value.find_first_not_of("0123456789abcdef-"), std::string::npos) << value;
    EXPECT_NE(trace->trace_id.find_first_not_of('0'), std::string::npos);
  };
  for (size_t at = 0; at < good.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string value = good;
      value[at] = static_cast<char>(byte);
      check(value);
    }
    EXPECT_FALSE(ParseTraceparent(good.substr(0, at)).has_value()) << at;
  }
  // The parser accepts 16 values for each of the 52 digits, and one value for each of the three dashes. One changed
  // digit cannot make the version ff, which is invalid.
  EXPECT_EQ(taken, 52 * 16 + 3);
}

}  // namespace
}  // namespace vitrine
