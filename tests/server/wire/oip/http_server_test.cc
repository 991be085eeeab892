// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/http/server.h"
#include "tests/common/gzip.h"
#include "tests/server/dripping.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Head = std::shared_ptr<HttpRequest>;

// Returns a handler that answers with the body, or with the error of reading the body.
HttpHandling Echo() {
  return HttpHandling::Read([](const absl::StatusOr<std::string>& body, const std::shared_ptr<HttpReply>& reply) {
    reply->Send([&] {
      return HttpResponse{.code = body.ok() ? 200 : 400,
                          .body = body.ok() ? *body : std::string(body.status().message())};
    });
  });
}

// Tests that a body that never arrives holds no thread. Otherwise, some tens of clients would hold all threads.
TEST(HttpServer, AnswersWithoutWaitingForABodyThatIsNotRead) {
  const auto server =
      HttpServer::Start({.listen = "127.0.0.1:0"}, [](const Head&) { return HttpHandling::Answer({}); });
  ASSERT_TRUE(server.ok()) << server.status();
  for (const char* head : {"GET /v2 HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n",
                           "POST /v2 HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n",
                           "GET /v2 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3b9aca00\r\n"}) {
    EXPECT_THAT(testing::AnswerToADrip((*server)->address(), head),
                AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Connection: close\r\n")))
        << head;
  }
}

TEST(HttpServer, BodiesOfAllConnectionsShareABudget) {
  const auto server = HttpServer::Start({.listen = "127.0.0.1:0", .received = std::make_shared<ByteBudget>(1000)},
                                        [](const Head&) { return Echo(); });
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_THAT(
      testing::AnswerToADrip((*server)->address(), "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n"),
      AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("retry in a moment")));
  EXPECT_THAT(testing::AnswerToADrip(
                  (*server)->address(),
                  "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + std::string(1001, 'x')),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("retry in a moment")));
}

// Tests the end of the server during a body that does not arrive. If the server waited, each client could delay the end
// by the maximum time for a body.
TEST(HttpServer, TheEndDoesNotWaitForAMissingBody) {
  std::promise<void> asked;
  std::promise<absl::Status> read;
  auto server = HttpServer::Start({.listen = "127.0.0.1:0"}, [&](const Head&) {
    asked.set_value();
    return HttpHandling::Read([&](const absl::StatusOr<std::string>& body, const std::shared_ptr<HttpReply>& reply) {
      read.set_value(body.status());
      reply->Send([] { return HttpResponse(); });
    });
  });
  ASSERT_TRUE(server.ok()) << server.status();
  const auto client = std::async(std::launch::async, [address = (*server)->address()] {
    testing::AnswerToADrip(address, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
  });
  asked.get_future().wait();
  server->reset();
  EXPECT_EQ(read.get_future().get(), absl::UnavailableError("the server is draining"));
}

absl::StatusOr<std::unique_ptr<HttpServer>> StartEcho(int64_t max_body_bytes) {
  return HttpServer::Start({.listen = "127.0.0.1:0", .max_body_bytes = max_body_bytes},
                           [](const Head&) { return Echo(); });
}

std::string Post(const HttpServer& server, const std::string& encoding, const std::string& body) {
  return testing::AnswerToADrip(server.address(), absl::StrCat("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n",
                                                               "Content-Encoding: ", encoding,
                                                               "\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
}

TEST(HttpServer, CompressedBodiesHaveTheSameLimits) {
  const auto server = StartEcho(1000);
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string body = "so many words, so many words, so many words";
  EXPECT_THAT(Post(**server, "gzip", testing::Gzip(body)), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr(body)));
  EXPECT_THAT(Post(**server, "identity", body), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr(body)));
  EXPECT_THAT(Post(**server, "gzip", testing::Gzip(std::string(100000, 'x'))),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("decompress to 100000; at most 1000")));
  EXPECT_THAT(Post(**server, "gzip", body), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("gzip is damaged")));
  EXPECT_THAT(Post(**server, "deflate", testing::Deflate(body)), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr(body)));
  EXPECT_THAT(Post(**server, "deflate", testing::Deflate(std::string(100000, 'x'))),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("decompress to more than the 1000")));
  EXPECT_THAT(Post(**server, "deflate", body), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("deflate is damaged")));
  EXPECT_THAT(Post(**server, "br", body), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("with gzip or deflate")));
}

}  // namespace
}  // namespace vitrine
