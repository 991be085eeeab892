// SPDX-License-Identifier: Apache-2.0
#include "server/trace/http_url.h"

#include <gmock/gmock.h>

#include <string>

namespace vitrine {
namespace {

std::string Parts(const std::string& text) {
  const auto url = ParseHttpUrl(text);
  if (!url.ok()) return std::string(url.status().message());
  return (url->is_tls ? "TLS " : "") + url->host + " " + url->port + " " + url->authority + " " + url->path;
}

TEST(HttpUrl, IsSplitIntoItsParts) {
  EXPECT_EQ(Parts("http://127.0.0.1:4318"), "127.0.0.1 4318 127.0.0.1:4318 /");
  EXPECT_EQ(Parts("http://collector/v1/traces"), "collector 80 collector /v1/traces");
  EXPECT_EQ(Parts("https://collector.example/otlp?x=1"), "TLS collector.example 443 collector.example /otlp?x=1");
  EXPECT_EQ(Parts("http://[::1]:4318/"), "::1 4318 [::1]:4318 /");
  EXPECT_EQ(Parts("http://[::1]"), "::1 80 [::1] /");
  EXPECT_EQ(Parts("http://host:1?x"), "host 1 host:1 /?x");
}

TEST(HttpUrl, ErrorsDescribeTheFault) {
  for (const char* text : {"", "host:4318", "ftp://host", "HTTP://host"}) {
    EXPECT_EQ(Parts(text), "does not begin with http:// or https://") << text;
  }
  for (const char* text :
       {"http://", "http:///x", "http://:80", "http://[]:80", "http://[::1:80", "http://[::1]x:80", "http://::1"}) {
    EXPECT_EQ(Parts(text), "has no host") << text;
  }
  for (const char* text : {"http://h:", "http://h:0", "http://h:65536", "http://h:otlp", "http://h:80:80"}) {
    EXPECT_EQ(Parts(text), "has no port from 1 to 65535") << text;
  }
  for (const char* text : {"http://user@host", "http://host/a b", "http://host/\r\nx: y", "http://host/#x"}) {
    EXPECT_EQ(Parts(text), "has a character that is not allowed in an address") << text;
  }
}

}  // namespace
}  // namespace vitrine
