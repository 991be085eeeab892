// SPDX-License-Identifier: Apache-2.0
// Tests of HttpServerOptions::max_unsent_bytes.
#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/http/server.h"
#include "tests/common/http1_client.h"
#include "tests/common/http2_client.h"
#include "tests/common/http_closings.h"

namespace vitrine {
namespace {

using ::testing::Le;
using ::testing::StartsWith;

constexpr size_t kLargeBytes = 300'000;
// Exceeds the size up to which responses are always sent. A check of the limit does not close a connection with so few
// bytes, because this is less than the average of the connections.
constexpr size_t kHeldBytes = 10'000;

std::unique_ptr<HttpServer> StartServer(Closings& closings, int64_t max_unsent_bytes, int loops = 1) {
  HttpServerOptions options = {.listen = "127.0.0.1:0", .observer = &closings};
  options.max_unsent_bytes = max_unsent_bytes;
  options.loops = loops;
  return *HttpServer::Start(options, [](const std::shared_ptr<HttpRequest>& request) {
    const std::string body(request->path() == "/small" ? 10 : kLargeBytes, 'x');
    if (request->path() == "/held" || request->path() == "/held-error") {
      return HttpHandling::Answer({.code = request->path() == "/held" ? 200 : 400,
                                   .body = std::string(kHeldBytes, 'x'),
                                   .held = std::make_shared<int>()});
    }
    if (request->path() == "/made") return HttpHandling::Make([body] { return HttpResponse{.body = body}; });
    if (request->path() == "/read") {
      return HttpHandling::Read([body](absl::StatusOr<std::string>, const std::shared_ptr<HttpReply>& reply) {
        reply->Send([&] { return HttpResponse{.body = body}; });
      });
    }
    return HttpHandling::Answer({.body = body});
  });
}

// A client with a window of zero receives the headers of each answer, but no body.
class ManyAnswers : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(UnsentLimit, ManyAnswers, ::testing::Values("/large", "/made", "/read"));

TEST_P(ManyAnswers, OfOneConnectionDoNotExceedTheLimit) {
  Closings closings;
  const auto server = StartServer(closings, 1'000'000);
  Http2Client client(server->address(), "", 0);
  for (int i = 0; i < 200; ++i) client.Begin(GetParam());
  EXPECT_TRUE(client.AwaitEnd());
  EXPECT_TRUE(closings.Await("unsent"));
  ASSERT_EQ(client.goaways.size(), 1u);
  EXPECT_EQ(client.goaways[0].why, "too many bytes of responses are unread");
  EXPECT_EQ(server->unsent_bytes(), 0);
  int made = 0;
  for (const auto& [id, response] : client.responses) {
    const auto status = response.headers.find(":status");
    if (status == response.headers.end()) continue;
    made += status->second == "200" ? 1 : 0;
  }
  // Four answers exceed the limit. Meanwhile, each of the server's other threads may make one more answer.
  EXPECT_THAT(made, Le(12));
}

TEST(UnsentLimit, OneAnswerLargerThanTheLimitStaysUntilAnotherClientWaits) {
  Closings closings;
  const auto server = StartServer(closings, 100'000);
  Http2Client alone(server->address(), "", 0);
  alone.Begin("/large");
  ASSERT_TRUE(alone.Until([&] { return server->unsent_bytes() >= static_cast<int64_t>(kLargeBytes); }));
  Http2Client other(server->address());
  const auto& refused = other.Get("/large");
  EXPECT_EQ(refused.headers.at(":status"), "503");
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  EXPECT_EQ(other.Get("/small").body, "xxxxxxxxxx");
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(350);  // three checks of the limit
  EXPECT_FALSE(alone.Until([&] { return alone.is_gone || std::chrono::steady_clock::now() >= end; }) && alone.is_gone);

  Http2Client waiting(server->address(), "", 0);
  waiting.Begin("/small");
  EXPECT_TRUE(closings.Await("unsent"));
  EXPECT_TRUE(alone.AwaitEnd());
  waiting.Ping();
  EXPECT_TRUE(waiting.Until([&] { return waiting.ping_answers == 1; }));
}

TEST(UnsentLimit, Http1AnswersAreRefusedAndHeadIsNot) {
  Closings closings;
  const auto server = StartServer(closings, 100'000);
  Http2Client alone(server->address(), "", 0);
  alone.Begin("/large");
  ASSERT_TRUE(alone.Until([&] { return server->unsent_bytes() >= static_cast<int64_t>(kLargeBytes); }));
  Http1Client other(server->address());
  ASSERT_TRUE(other.Send("HEAD /large HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_THAT(other.ReadUntil("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  ASSERT_TRUE(other.Send("GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  EXPECT_THAT(other.ReadAll(), StartsWith("HTTP/1.1 503"));
}

// The size of these answers was limited before they were computed, so a refusal would only waste the work.
TEST(UnsentLimit, AnswersThatHoldResourcesAreNotRefused) {
  for (const bool is_http2 : {true, false}) {
    Closings closings;
    const auto server = StartServer(closings, 100'000);
    Http2Client alone(server->address(), "", 0);
    alone.Begin("/large");
    ASSERT_TRUE(alone.Until([&] { return server->unsent_bytes() >= static_cast<int64_t>(kLargeBytes); }));
    Http2Client two(server->address());
    EXPECT_EQ(two.Get("/large").headers.at(":status"), "503");
    EXPECT_EQ(two.Get("/held-error").headers.at(":status"), "503");
    if (is_http2) {
      EXPECT_EQ(two.Get("/held").body.size(), kHeldBytes);
      continue;
    }
    Http1Client one(server->address());
    ASSERT_TRUE(one.Send("GET /held HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    EXPECT_THAT(one.ReadAll(), StartsWith("HTTP/1.1 200"));
  }
}

// `patient` waits longer than `many` and has more unsent bytes than the average connection. The server must still not
// close `patient`, because the event loop of `patient` holds few unsent bytes.
TEST(UnsentLimit, ALoopWithFewBytesClosesNoConnection) {
  Closings closings;
  const auto server = StartServer(closings, 1'000'000, 2);
  Http2Client patient(server->address(), "", 0);
  patient.Begin("/large");
  ASSERT_TRUE(patient.Until([&] { return !patient.responses.empty(); }));
  Http2Client many(server->address(), "", 0);  // on the second event loop, which has no other connection yet
  std::vector<std::unique_ptr<Http1Client>> idle;
  for (int i = 0; i < 20; ++i) idle.push_back(std::make_unique<Http1Client>(server->address()));
  for (int i = 0; i < 5; ++i) many.Begin("/large");
  EXPECT_TRUE(closings.Await("unsent"));
  EXPECT_TRUE(many.AwaitEnd());
  patient.Ping();
  EXPECT_TRUE(patient.Until([&] { return patient.ping_answers == 1; }));
}

// Closing one connection per check of the limit would take ten seconds.
TEST(UnsentLimit, OneCheckClosesAsManyConnectionsAsNeeded) {
  Closings closings;
  const auto server = StartServer(closings, 100);
  std::vector<std::unique_ptr<Http2Client>> clients;
  for (int i = 0; i < 110; ++i) {
    clients.push_back(std::make_unique<Http2Client>(server->address(), "", 0));
    clients.back()->Begin("/small");
    clients.back()->Until([&] { return !clients.back()->responses.empty(); });
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (server->unsent_bytes() > 100 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_THAT(server->unsent_bytes(), Le(100));
}

}  // namespace
}  // namespace vitrine
