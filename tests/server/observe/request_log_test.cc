// SPDX-License-Identifier: Apache-2.0
#include "server/observe/request_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "server/observe/log.h"
#include "tests/server/logged.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

RequestLog Make(const std::string& requests, const Clock& clock, absl::Duration slow = absl::InfiniteDuration()) {
  return RequestLog({.requests = requests, .slow = slow}, clock);
}

TEST(RequestLog, SelectsRequestsByItsSetting) {
  FakeClock clock;
  const absl::Duration fast = absl::Milliseconds(1);
  using enum absl::StatusCode;
  EXPECT_FALSE(Make("none", clock, fast).Wants(kInternal, absl::Hours(1)));
  EXPECT_TRUE(Make("errors", clock).Wants(kInternal, fast));
  EXPECT_TRUE(Make("errors", clock).Wants(kUnknown, fast));
  EXPECT_FALSE(Make("errors", clock).Wants(kInvalidArgument, fast));
  EXPECT_FALSE(Make("errors", clock).Wants(kOk, absl::Hours(1)));
  EXPECT_TRUE(Make("errors", clock, absl::Seconds(1)).Wants(kOk, absl::Seconds(1)));
  EXPECT_FALSE(Make("errors", clock, absl::Seconds(1)).Wants(kOk, absl::Milliseconds(999)));
  EXPECT_TRUE(Make("failures", clock).Wants(kResourceExhausted, fast));
  EXPECT_FALSE(Make("failures", clock).Wants(kOk, fast));
  EXPECT_TRUE(Make("all", clock).Wants(kOk, fast));
}

RequestLine Failed(const std::string& id, const std::string& model = "m") {
  return {.method = "Classify",
          .caller = "token:ann",
          .peer = "ipv4:10.0.3.7:41812",
          .model = model,
          .version = 3,
          .request_id = id,
          .trace = TraceContext{std::string(32, 'a'), std::string(16, 'b'), true},
          .status = absl::InternalError("it broke"),
          .spent = absl::Milliseconds(12)};
}

TEST(RequestLog, NamesCallerRequestAndReason) {
  KeepHistory();
  FakeClock clock;
  RequestLog log = Make("errors", clock);
  log.Write(Failed("id-1"));
  EXPECT_EQ(History().Lines()[0].text,
            "request method=Classify code=INTERNAL duration_ms=12 caller=token:ann peer=ipv4:10.0.3.7:41812 model=m "
            "version=3 request_id=id-1 trace_id=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa span_id=bbbbbbbbbbbbbbbb reason=\"it "
            "broke\"");
}

TEST(RequestLog, TruncatesLongTextAndEscapesLineEnds) {
  KeepHistory();
  FakeClock clock;
  RequestLog log = Make("errors", clock);
  log.Write(Failed(std::string(4000, 'x'), "m\n2023-01-01 error forged"));
  const std::string line = History().Lines()[0].text;
  EXPECT_LT(line.size(), 600U);
  EXPECT_THAT(line, AllOf(HasSubstr("model=\"m\\n2023-01-01 error forged\""), Not(HasSubstr("\n"))));
}

TEST(RequestLog, LimitsTheRateAndCountsOmittedLines) {
  KeepHistory();
  FakeClock clock;
  RequestLog log = Make("errors", clock);
  const uint64_t before = History().Counts().first;
  for (int i = 0; i < 1000; ++i) log.Write(Failed("flood"));
  EXPECT_EQ(History().Counts().first - before, static_cast<uint64_t>(RequestLog::kMaxLinesPerSecond));
  clock.Advance(absl::Seconds(1));
  log.Write(Failed("after"));
  EXPECT_THAT(History().Lines()[0].text, AllOf(HasSubstr("request_id=after"), HasSubstr("lines_left_out=980")));
  log.Write(Failed("next"));
  EXPECT_THAT(History().Lines()[0].text, Not(HasSubstr("lines_left_out")));
}

TEST(RequestLog, UnauthenticatedCallersHaveTheirOwnLimit) {
  FakeClock clock;
  for (const char* setting : {"failures", "all"}) {
    RequestLog log = Make(setting, clock);
    const std::string text = Logged("info", "text", [&] {
      for (int i = 0; i < 1000; ++i) {
        log.Write({.method = "ListModels", .caller = "anonymous", .status = absl::UnauthenticatedError("who")});
      }
      log.Write(Failed("other"));
      clock.Advance(absl::Seconds(1));
      log.Write({.method = "GetModel", .caller = "anonymous", .status = absl::UnauthenticatedError("who")});
    });
    const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
    ASSERT_EQ(lines.size(), RequestLog::kMaxUnauthenticatedPerSecond + 2U) << setting;
    EXPECT_THAT(lines[lines.size() - 2], AllOf(HasSubstr("request_id=other"), Not(HasSubstr("lines_left_out"))));
    EXPECT_THAT(lines.back(), AllOf(HasSubstr("method=GetModel"), HasSubstr("lines_left_out=995")));
  }
}

TEST(RequestLog, AllHasNoRateLimit) {
  KeepHistory();
  FakeClock clock;
  RequestLog log = Make("all", clock);
  const uint64_t before = History().Counts().first;
  for (int i = 0; i < 100; ++i) log.Write(Failed("each"));
  EXPECT_EQ(History().Counts().first - before, 100U);
}

}  // namespace
}  // namespace vitrine
