// SPDX-License-Identifier: Apache-2.0
#include "server/pages/http_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <atomic>
#include <string>
#include <vector>

#include "tests/server/dripping.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class NoMetrics : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override {
    ++collected_;
    return {};
  }
  int collected() const { return collected_; }

 private:
  mutable std::atomic<int> collected_ = 0;
};

absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& address) {
  static const NoMetrics none;
  return StartHttpEndpoint(address, {.metrics = &none, .not_ready = [] { return std::string(); }});
}

TEST(HttpEndpoint, ListensOnIPv6OrNamesIPv6AsTheCause) {
  const auto endpoint = Start("[::1]:0");
  if (endpoint.ok()) {
    EXPECT_THAT((*endpoint)->address(), StartsWith("[::1]:"));
  } else {
    EXPECT_EQ(endpoint.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(endpoint.status().message()), AllOf(HasSubstr("[::1]:0"), HasSubstr("IPv6")));
  }
}

TEST(HttpEndpoint, TheErrorForATakenPortNamesTheAddress) {
  const auto first = Start("127.0.0.1:0");
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Start((*first)->address());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              AllOf(HasSubstr((*first)->address()), HasSubstr("in use"), Not(HasSubstr("null context"))));
}

TEST(HttpEndpoint, FrequentScrapesGetTheCachedText) {
  const NoMetrics metrics;
  const auto endpoint = StartHttpEndpoint(
      "127.0.0.1:0", {.metrics = &metrics, .scrape_period = absl::Hours(1), .not_ready = [] { return std::string(); }});
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  for (int i = 0; i < 30; ++i) {
    const std::string head = "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    EXPECT_THAT(testing::AnswerToADrip((*endpoint)->address(), head), StartsWith("HTTP/1.1 200"));
  }
  EXPECT_EQ(metrics.collected(), 8);
}

}  // namespace
}  // namespace vitrine
