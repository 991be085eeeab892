// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/cors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/server/http_asked.h"

namespace vitrine {
namespace {

using ::testing::IsEmpty;

std::map<std::string, std::string> HeadersFor(const CrossOrigin& cors, const std::string& method,
                                              const std::map<std::string, std::string>& headers, bool answered) {
  const auto request = testing::HeadOf(method, "/v1/models", headers);
  const std::optional<HttpResponse> answer = cors.Apply(*request);
  EXPECT_EQ(answer.has_value(), answered);
  EXPECT_EQ(answer.value_or(HttpResponse{.code = 204}).code, 204);
  return {request->answer_headers.begin(), request->answer_headers.end()};
}

TEST(CrossOrigin, SendsNoHeadersWithoutAllowedOrigins) {
  const CrossOrigin none({});
  EXPECT_THAT(HeadersFor(none, "GET", {{"Origin", "https://a.example"}}, false), IsEmpty());
  EXPECT_THAT(
      HeadersFor(none, "OPTIONS", {{"Origin", "https://a.example"}, {"Access-Control-Request-Method", "POST"}}, false),
      IsEmpty());
}

TEST(CrossOrigin, AllowsExactlyTheRequestingOriginIfItIsListed) {
  const CrossOrigin two({"https://a.example", "http://localhost:8080"});
  for (const char* origin : {"https://a.example", "http://localhost:8080"}) {
    auto headers = HeadersFor(two, "POST", {{"Origin", origin}}, false);
    EXPECT_EQ(headers["Access-Control-Allow-Origin"], origin);
    EXPECT_EQ(headers["Vary"], "Origin");
    EXPECT_EQ(headers.count("Access-Control-Allow-Methods"), 0u);
    headers = HeadersFor(two, "OPTIONS", {{"Origin", origin}, {"Access-Control-Request-Method", "POST"}}, true);
    EXPECT_EQ(headers["Access-Control-Allow-Origin"], origin);
    EXPECT_EQ(headers["Access-Control-Allow-Methods"], "GET, POST");
    EXPECT_EQ(headers["Vary"], "Origin");
  }
  for (const char* other : {"https://b.example", "http://a.example", "https://a.example:8080", "null", ""}) {
    const auto headers =
        HeadersFor(two, "OPTIONS", {{"Origin", other}, {"Access-Control-Request-Method", "POST"}}, false);
    EXPECT_EQ(headers, (std::map<std::string, std::string>{{"Vary", "Origin"}})) << other;
  }
  EXPECT_EQ(HeadersFor(two, "GET", {}, false), (std::map<std::string, std::string>{{"Vary", "Origin"}}));
}

TEST(CrossOrigin, AcceptsOnlyOriginsThatABrowserSends) {
  EXPECT_TRUE(CrossOrigin::Validate({"https://a.example", "http://127.0.0.1:8000", "http://[::1]:80"}).ok());
  for (const char* wrong : {"*", "a.example", "https://a.example/", "https://A.example", "https://", "null", ""}) {
    const absl::Status status = CrossOrigin::Validate({"https://a.example", wrong});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("--http-cors-origin")) << wrong;
  }
}

}  // namespace
}  // namespace vitrine
