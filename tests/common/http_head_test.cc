// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/http/body.h"
#include "common/http/protocol/request_parser.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

// Parses a request without body and expects that all bytes are consumed.
absl::StatusOr<HttpHead> ParseHttpHead(const std::string& head) {
  HttpRequestParser parser;
  const absl::StatusOr<size_t> taken = parser.Take(head);
  if (!taken.ok()) return taken.status();
  if (!parser.has_head()) return absl::OutOfRangeError("more must come");
  EXPECT_EQ(*taken, head.size());
  return parser.Head();
}

constexpr char kWhole[] =
    "POST /v2/models/a%20b/infer?x=%41&y HTTP/1.1\r\nHost: localhost\r\ncontent-LENGTH:  12 \r\nX-Empty:\r\n\r\n";

TEST(HttpHead, HasTheReceivedValues) {
  const auto head = ParseHttpHead(kWhole);
  ASSERT_TRUE(head.ok()) << head.status();
  EXPECT_EQ(head->method, "POST");
  EXPECT_EQ(head->path, "/v2/models/a b/infer");
  EXPECT_EQ(head->query, "x=%41&y");
  EXPECT_EQ(head->Header("HOST"), "localhost");
  EXPECT_EQ(head->Header("x-empty"), "");
  EXPECT_EQ(head->Header("Accept"), std::nullopt);
  EXPECT_EQ(head->ContentLength(), 12);
  EXPECT_TRUE(head->AnnouncesBody());
  EXPECT_TRUE(head->KeepsAlive());
}

TEST(HttpHead, TruncatedAtAnyByteItIsIncomplete) {
  const std::string whole = kWhole;
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(ParseHttpHead(whole.substr(0, size)).status().code(), absl::StatusCode::kOutOfRange) << size;
  }
}

// The result must not depend on how the bytes are split, and bytes after the request must not be consumed.
TEST(HttpHead, MayArriveInAnyParts) {
  const std::string body = "twelve bytes";
  const std::string sent = kWhole + body + "GET /next";
  for (size_t part = 1; part < sent.size(); ++part) {
    HttpRequestParser parser;
    std::string received;
    for (size_t at = 0; at < sent.size() && !parser.is_done(); at += part) {
      received += sent.substr(at, part);
      for (size_t before = std::string::npos; before != received.size() && !parser.is_done();) {
        before = received.size();
        const absl::StatusOr<size_t> taken = parser.Take(received);
        ASSERT_TRUE(taken.ok()) << taken.status() << " in parts of " << part;
        received.erase(0, *taken);
        if (parser.has_head() && parser.body_bytes() == 0) parser.ReadBody(100);
      }
    }
    ASSERT_TRUE(parser.is_done()) << part;
    EXPECT_EQ(parser.Head()->path, "/v2/models/a b/infer");
    EXPECT_EQ(parser.TakeBody(), body);
    EXPECT_EQ(received, std::string("GET /next").substr(0, received.size()));
  }
}

TEST(HttpHead, OtherProtocolsAreRefusedWithAnError) {
  std::vector<std::string> heads = {"\r\n\r\n", "GET / HTTP/1.1\nHost: x\r\n\r\n"};
  for (const std::string line :
       {"GET /", "GET  / HTTP/1.1", "GET / HTTP/2.0", "BREW / HTCPCP/1.0", "G(T / HTTP/1.1", "GET /%zz HTTP/1.1",
        "GET /%4 HTTP/1.1", "GET /%00 HTTP/1.1", "GET /%C3%28 HTTP/1.1"}) {
    heads.push_back(line + "\r\nHost: x\r\n\r\n");
  }
  for (const std::string field : {"no colon", "Name : x", "A: x\ny", ": x"}) {
    heads.push_back("GET / HTTP/1.1\r\nHost: x\r\n" + field + "\r\n\r\n");
  }
  for (const std::string& head : heads) {
    const auto read = ParseHttpHead(head);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << head;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr("HTTP/1.1")) << head;
  }
}

TEST(HttpHead, NeedsExactlyOneHost) {
  const auto why_not = [](const std::string& version, const std::string& fields) {
    return std::string(ParseHttpHead("GET / HTTP/" + version + "\r\n" + fields + "\r\n").status().message());
  };
  EXPECT_THAT(why_not("1.1", ""), HasSubstr("Host is missing"));
  EXPECT_THAT(why_not("1.1", "Hosts: x\r\n"), HasSubstr("Host is missing"));
  EXPECT_THAT(why_not("1.1", "Host: x\r\nhost: x\r\n"), HasSubstr("more than once"));
  EXPECT_THAT(why_not("1.0", "Host: x\r\nHost: y\r\n"), HasSubstr("more than once"));
  EXPECT_EQ(why_not("1.0", ""), "");
  for (const std::string host : {"x", "x:80", "[::1]:80", "a-b.c_d", "", "127.0.0.1", "%C3%A9.example"}) {
    EXPECT_EQ(why_not("1.1", "Host: " + host + "\r\n"), "") << host;
  }
  for (const std::string host : {"a b", "a/b", "user@x", "x?y", "x#y", "\"x\"", "<x>", "\xC3\xA9"}) {
    EXPECT_THAT(why_not("1.1", "Host: " + host + "\r\n"), HasSubstr("Host is not")) << host;
  }
}

// Parsers handle folded lines differently, so a client could hide a header from one of them.
TEST(HttpHead, AFoldedHeaderIsRefused) {
  for (const std::string fold : {" ", "\t", "   ", " \t"}) {
    for (const std::string& fields :
         {fold + "folded: x\r\nHost: x\r\n", "Host: x\r\nA: b\r\n" + fold + "c\r\n", "Host: x\r\n" + fold + "\r\n",
          "Host: x\r\nA:\r\n" + fold + "Content-Length: 1\r\n"}) {
      const auto read = ParseHttpHead("GET / HTTP/1.1\r\n" + fields + "\r\n");
      EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << fields;
      EXPECT_THAT(std::string(read.status().message()), HasSubstr("folded")) << fields;
    }
  }
  const std::string folded = "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\nD: e\r\n\r\n";
  for (size_t cut = 1; cut < folded.size(); ++cut) {
    HttpRequestParser parser;
    const absl::StatusOr<size_t> first = parser.Take(folded.substr(0, cut));
    EXPECT_FALSE(first.ok() && parser.Take(folded.substr(*first)).ok()) << "in two parts, the first of " << cut;
  }
  HttpRequestParser parser;
  const std::string before = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n";
  ASSERT_TRUE(parser.Take(before + "a\r\n b\r\n\r\n c").ok()) << "lines of a body may start with spaces";
}

TEST(HttpHead, TooLongHeadersAreRefusedWithTheirLimit) {
  for (const size_t most : {size_t{300}, kMaxHttpHeadBytes}) {
    const std::string fields = " HTTP/1.1\r\nHost: x\r\n\r\n";
    for (const bool is_too_long : {false, true}) {
      HttpRequestParser parser(most);
      const auto taken =
          parser.Take("GET /" + std::string(most - 32 - 5 - fields.size() + (is_too_long ? 1 : 0), 'a') + fields);
      EXPECT_EQ(parser.has_head(), !is_too_long) << most;
      if (!is_too_long) continue;
      EXPECT_EQ(taken.status().code(), absl::StatusCode::kResourceExhausted);
      EXPECT_THAT(std::string(taken.status().message()), HasSubstr(std::to_string(most)));
    }
    HttpRequestParser parser(most);
    const std::string sent = "GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(most - 150, 'a') + "\r\nB";
    const absl::StatusOr<size_t> first = parser.Take(sent);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_FALSE(parser.Take(sent.substr(*first) + ": " + std::string(50, 'b') + "\r\n\r\n").ok()) << "in two parts";
  }
}

// The objects of a short header take far more memory than its text.
TEST(HttpHead, ManyShortHeadersAreTooLong) {
  for (const size_t at_once : {size_t{1}, size_t{5}, size_t{100'000}}) {
    HttpRequestParser parser;
    std::string left = "GET / HTTP/1.1\r\nHost: x\r\n", unsent;
    for (int i = 0; i < 1000; ++i) unsent += "a:b\r\n";
    absl::StatusOr<size_t> taken = parser.Take(left);
    while (taken.ok() && !unsent.empty()) {
      left = left.substr(*taken) + unsent.substr(0, at_once);
      unsent.erase(0, at_once);
      taken = parser.Take(left);
    }
    EXPECT_EQ(taken.status().code(), absl::StatusCode::kResourceExhausted) << at_once;
    EXPECT_LT(parser.Fields().size(), size_t{500}) << at_once;
  }
}

// Tests only chunked bodies. The parser does not check the Content-Length of other bodies, because its caller does.
TEST(HttpRequestParser, TooLongChunksAreRefusedWithTheLimit) {
  HttpRequestParser parser;
  std::string sent = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + std::string(101, 'x');
  absl::StatusOr<size_t> taken = parser.Take(sent);
  parser.ReadBody(100);
  while (taken.ok() && *taken > 0) {
    sent.erase(0, *taken);
    taken = parser.Take(sent);
  }
  EXPECT_TRUE(IsTooLarge(taken.status())) << taken.status();
  EXPECT_THAT(std::string(taken.status().message()), HasSubstr("100 bytes"));
}

// A client that announces a body but does not send it must not use the memory of the whole body.
TEST(HttpRequestParser, AnAnnouncedLengthReservesLittle) {
  HttpRequestParser parser;
  constexpr int64_t kAnnounced = int64_t{1} << 48;  // more than an address space, so reserving it would fail
  ASSERT_TRUE(
      parser.Take("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(kAnnounced) + "\r\n\r\n").ok());
  parser.ReadBody(kAnnounced);
  const auto taken = parser.Take("abc");
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(parser.body_bytes(), size_t{3});
  EXPECT_FALSE(parser.is_done());
}

// Trailers have their own limit, because the limit on headers does not cover them.
TEST(HttpRequestParser, TrailersHaveALimit) {
  for (const size_t bytes : {size_t{100}, size_t{65'533}, size_t{65'534}, size_t{1'000'000}}) {
    HttpRequestParser parser;
    ASSERT_TRUE(parser.Take("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n").ok());
    parser.ReadBody(1000);
    const auto taken = parser.Take("0\r\nX: " + std::string(bytes, 'a') + "\r\n\r\n");
    EXPECT_EQ(parser.is_done(), bytes <= 65'533) << bytes;
    EXPECT_EQ(taken.status().code(), bytes <= 65'533 ? absl::StatusCode::kOk : absl::StatusCode::kInvalidArgument)
        << bytes;
  }
}

TEST(HttpRequestParser, TheLastChunkMayComeInParts) {
  HttpRequestParser parser;
  std::string left = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  bool has_head = false;
  for (const char c : std::string("0\r\n\r\n")) {
    const auto taken = parser.Take(left);
    ASSERT_TRUE(taken.ok()) << taken.status();
    left.erase(0, *taken);
    if (parser.has_head() && !std::exchange(has_head, true)) parser.ReadBody(1000);
    left += c;
  }
  ASSERT_TRUE(parser.Take(left).ok());
  EXPECT_TRUE(parser.is_done());
}

// A proxy that ends a chunk's line at a line feed inside a quoted string would find other chunks in the same bytes.
TEST(HttpRequestParser, AChunkExtensionIsOnOneLine) {
  for (const std::string value : {"a", "\"a\"", "\"a\\\"b\"", "\"\nx\"", "\"\\\nx\""}) {
    for (const std::string size : {"3", "0"}) {
      HttpRequestParser parser;
      ASSERT_TRUE(parser.Take("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n").ok());
      parser.ReadBody(100);
      const absl::StatusOr<size_t> taken =
          parser.Take(size + ";a=" + value + "\r\n" + (size == "0" ? "\r\n" : "abc\r\n0\r\n\r\n"));
      EXPECT_EQ(taken.ok(), value.find('\n') == std::string::npos) << size << value << taken.status();
    }
  }
}

// Every ambiguous length must be rejected, because a proxy in front of the server could find another end of the body
// (request smuggling).
TEST(HttpHead, ABodyHasOneLength) {
  for (const std::string headers :
       {"Content-Length: 1\r\nContent-Length: 1\r\n", "Content-Length: -1\r\n", "Content-Length: +1\r\n",
        "Content-Length: 1 1\r\n", "Content-Length: 0x1\r\n", "Content-Length:\r\n",
        "Content-Length: 99999999999999999999\r\n", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"}) {
    EXPECT_FALSE(ParseHttpHead("POST / HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n").ok()) << headers;
  }
  const auto old = ParseHttpHead("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_FALSE(old.ok()) << "a proxy of HTTP/1.0 ignores the header";
  const auto chunked = ParseHttpHead("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  ASSERT_TRUE(chunked.ok()) << chunked.status();
  EXPECT_TRUE(chunked->AnnouncesBody());
  EXPECT_EQ(chunked->ContentLength(), std::nullopt);
}

TEST(HttpHead, KeepAliveDependsOnVersionAndHeader) {
  const auto keeps = [](const std::string& head) { return ParseHttpHead(head)->KeepsAlive(); };
  EXPECT_TRUE(keeps("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1\r\nHost: x\r\nConnection: Close\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1\r\nHost: x\r\nConnection: TE, close\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(HttpHead, AcceptsTheAbsoluteFormOfAPath) {
  EXPECT_EQ(ParseHttpHead("GET http://host:80/metrics?a HTTP/1.1\r\nHost: x\r\n\r\n")->path, "/metrics");
  EXPECT_EQ(ParseHttpHead("GET http://host HTTP/1.1\r\nHost: x\r\n\r\n")->path, "/");
  EXPECT_EQ(ParseHttpHead("GET HTTPS://host/a HTTP/1.1\r\nHost: x\r\n\r\n")->path, "/a");
}

}  // namespace
}  // namespace vitrine
