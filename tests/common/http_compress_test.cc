// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "common/gunzip.h"
#include "common/http/compress.h"

namespace vitrine {
namespace {

TEST(TakesGzip, FollowsTheWeightsInTheHeader) {
  for (const char* takes : {"gzip", "GZip", "x-gzip", "deflate, gzip;q=1.0, br", "*", "gzip;q=0.001",
                            "br;q=1 , gzip ; q=0.5", "identity;q=0.5, gzip", "gzip, identity", "identity;q=0, *"}) {
    EXPECT_TRUE(TakesGzip(takes)) << takes;
  }
  for (const char* refuses : {"", "identity", "br, deflate", "gzip;q=0", "gzip; q=0.0", "*;q=0", "*, gzip;q=0",
                              "gzip;q=0.5, identity;q=1", "gzip;q=x", "gzipped", "gzip;q="}) {
    EXPECT_FALSE(TakesGzip(refuses)) << refuses;
  }
}

TEST(IsCompressible, IsTrueForTextAndFalseForImages) {
  for (const char* type : {"application/json", "text/plain; charset=utf-8", "TEXT/html", "image/svg+xml",
                           "text/javascript; charset=utf-8"}) {
    EXPECT_TRUE(IsCompressible(type)) << type;
  }
  for (const char* type : {"", "image/png", "application/octet-stream", "application/grpc", "text"}) {
    EXPECT_FALSE(IsCompressible(type)) << type;
  }
}

class CompressForTest : public ::testing::Test {
 protected:
  static HttpRequest Asking(const std::string& accepts) {
    HttpRequest request;
    if (!accepts.empty()) request.head.headers = {{"accept-encoding", accepts}};
    return request;
  }
  static std::string HeaderOf(const HttpResponse& response, const std::string& name) {
    std::string values;
    for (const auto& [each, value] : response.headers) {
      if (each == name) values += value + ";";
    }
    return values;
  }
};

TEST_F(CompressForTest, CompressesOnlyLargeTextsOnRequest) {
  const std::string large(kLeastCompressedBytes, 'x'), small(kLeastCompressedBytes - 1, 'x');
  HttpResponse response = {.body = large};
  CompressFor(Asking("gzip"), response);
  EXPECT_EQ(HeaderOf(response, "Content-Encoding"), "gzip;");
  EXPECT_EQ(HeaderOf(response, "Vary"), "Accept-Encoding;");
  EXPECT_EQ(Gunzip(response.body, large.size()).value(), large);
  const HttpResponse packed = response;
  CompressFor(Asking("gzip"), response);
  EXPECT_EQ(response.body, packed.body) << "a response must be compressed only once";

  response = {.body = large};
  CompressFor(Asking(""), response);
  EXPECT_EQ(response.body, large);
  EXPECT_EQ(HeaderOf(response, "Vary"), "Accept-Encoding;")
      << "Vary must tell caches that the response depends on Accept-Encoding";

  response = {.body = small};
  CompressFor(Asking("gzip"), response);
  EXPECT_EQ(response.body, small);
  response = {.type = "application/octet-stream", .body = large};
  CompressFor(Asking("gzip"), response);
  EXPECT_EQ(response.body, large);
  EXPECT_TRUE(response.headers.empty());
}

}  // namespace
}  // namespace vitrine
