// SPDX-License-Identifier: Apache-2.0
// Tests that a few bytes of HTTP/2 cannot occupy much memory or time of the server.
#include <gmock/gmock.h>
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/config.h"
#include "common/command_line/out_of_memory.h"
#include "common/http/protocol/http2_session.h"
#include "common/http/server.h"
#include "tests/common/http2_client.h"
#include "tests/common/http_closings.h"
#include "tests/common/silent_stream.h"

namespace vitrine {
namespace {

using ::testing::Gt;
using ::testing::Lt;

HttpHandler StaySilent(bool drops_headers) {
  return [drops_headers](const std::shared_ptr<HttpRequest>& request) {
    if (drops_headers) request->head.headers.clear();
    return HttpHandling::Stream(
        [](std::shared_ptr<HttpStream> stream) { return std::make_shared<SilentStream>(std::move(stream)); });
  };
}

// Waits up to five seconds until no byte of the budget is in use. Returns true if this succeeds.
bool BecomesUnused(const ByteBudget& budget) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (budget.used() > 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return budget.used() == 0;
}

struct Limited {
  explicit Limited(bool drops_headers) {
    HttpServerOptions options = {.listen = "127.0.0.1:0", .received = budget};
    server = *HttpServer::Start(options, StaySilent(drops_headers));
  }
  const std::shared_ptr<ByteBudget> budget = std::make_shared<ByteBudget>(38'400);
  std::unique_ptr<HttpServer> server;
};

TEST(Http2Memory, HeadersOfOpenRequestsShareTheBudgetOfReceivedBytes) {
  const Limited limited(false);
  {
    Http2Client client(limited.server->address());
    std::vector<int32_t> ids;
    const std::pair<std::string, std::string> large = {"x-large", std::string(5000, 'x')};
    for (int i = 0; i < 12; ++i) ids.push_back(client.Begin("/", "", false, {large}));
    EXPECT_EQ(client.Await(ids.back()).headers.at(":status"), "503");
    EXPECT_FALSE(client.responses[ids.front()].is_ended);
    const auto& grpc = client.Await(client.Begin("/", "", false, {large, {"content-type", "application/grpc"}}));
    EXPECT_EQ(grpc.headers.at("grpc-status"), "8");
    client.Reset(ids.front());
    EXPECT_TRUE(client.Until([&] { return limited.budget->used() < 44'000; }));
  }
  EXPECT_TRUE(BecomesUnused(*limited.budget));
}

TEST(Http2Memory, HeadersThatAHandlerDropsAreNotCounted) {
  const Limited limited(true);
  Http2Client client(limited.server->address());
  for (int i = 0; i < 12; ++i) client.Begin("/", "", false, {{"x-large", std::string(5000, 'x')}});
  client.Ping();
  EXPECT_TRUE(client.Until([&] { return client.ping_answers == 1; }));
  EXPECT_THAT(limited.budget->used(), Lt(30'000));
}

TEST(Http2Memory, TheBufferOfABodyIsCounted) {
  const auto budget = std::make_shared<ByteBudget>(1 << 20);
  int64_t used = 0;
  size_t capacity = 0;
  const auto server =
      *HttpServer::Start({.listen = "127.0.0.1:0", .received = budget}, [&](const std::shared_ptr<HttpRequest>&) {
        return HttpHandling::Read(
            [&](const absl::StatusOr<std::string>& body, const std::shared_ptr<HttpReply>& reply) {
              used = budget->used();
              capacity = body->capacity();
              reply->Send([] { return HttpResponse{.body = "done"}; });
            });
      });
  const std::string body(300'000, 'x');
  for (const bool has_length : {true, false}) {
    Http2Client client(server->address());
    const HttpHeaders length = {{"content-length", "300000"}};
    const int32_t id = client.Begin("/", body, true, has_length ? length : HttpHeaders());
    EXPECT_EQ(client.Await(id).body, "done");
    EXPECT_GE(used, static_cast<int64_t>(capacity)) << "the headers count too";
    if (has_length) {
      EXPECT_EQ(capacity, body.size());
    }
  }
}

#ifndef ABSL_HAVE_ADDRESS_SANITIZER  // AddressSanitizer's malloc does not return null
TEST(Http2MemoryDeathTest, AFailedAllocationOfNghttp2EndsTheProcess) {
  const auto ends = ::testing::ExitedWithCode(kExitOutOfMemory);
  constexpr char kSays[] = "^vitrine-server: out of memory";
  constexpr size_t kTooMuch = std::numeric_limits<ptrdiff_t>::max();
  const nghttp2_mem& memory = *Nghttp2Memory();
  EXPECT_EXIT((EndWhenOutOfMemory("vitrine-server"), memory.free(memory.malloc(kTooMuch, nullptr), nullptr)), ends,
              kSays);
  EXPECT_EXIT((EndWhenOutOfMemory("vitrine-server"), memory.free(memory.calloc(1, kTooMuch, nullptr), nullptr)), ends,
              kSays);
  EXPECT_EXIT((EndWhenOutOfMemory("vitrine-server"), memory.free(memory.realloc(nullptr, kTooMuch, nullptr), nullptr)),
              ends, kSays);
}

// Returns the number of bytes that the process has allocated.
size_t Allocated() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(Http2Memory, AnIdleConnectionKeepsNoBufferOfALargeAnswer) {
  constexpr size_t kClients = 100;
  const auto server = *HttpServer::Start({.listen = "127.0.0.1:0"}, [](const std::shared_ptr<HttpRequest>& request) {
    return HttpHandling::Answer({.body = std::string(request->path() == "/large" ? 200'000 : 1, 'x')});
  });
  std::vector<std::unique_ptr<Http2Client>> clients;
  for (size_t i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<Http2Client>(server->address()));
    clients.back()->Get("/small");
  }
  const size_t before = Allocated();
  for (const auto& client : clients) {
    EXPECT_EQ(client->Get("/large").body.size(), 200'000u);
    client->responses.clear();
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (Allocated() > before + kClients * 64'000 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_THAT(Allocated(), Lt(before + kClients * 64'000));
}
#endif

// Sends PINGs without reading the answers, until the kernel takes no more answers.
TEST(Http2Memory, FramesThatTheKernelHasNotTakenCountAsUnsent) {
  Closings closings;
  HttpServerOptions options = {.listen = "127.0.0.1:0", .observer = &closings};
  options.min_ping_interval = absl::ZeroDuration();
  options.abuse.connection_burst = options.abuse.address_burst = 1e9;
  const auto server = *HttpServer::Start(
      options, [](const std::shared_ptr<HttpRequest>&) { return HttpHandling::Answer({.body = "done"}); });
  std::string pings;
  for (int i = 0; i < 100; ++i) pings += std::string("\0\0\x08\x06\0\0\0\0\0pingping", 17);
  const auto fill = [&](Http2Client& client) {
    EXPECT_EQ(client.Get("/").body, "done");
    for (int requests = 2, blocked = 0; blocked < 5; ++requests) {
      // The request after the 100 PINGs shows when the server has read them. Without this wait, the server could read
      // more than 1000 PINGs at once, which counts as abuse.
      const int id = requests * 2 - 1;
      std::string request("\0\0\6\1\5\0\0\0\0\x82\x86\x84\x41\x01x", 15);
      request[7] = static_cast<char>(id >> 8);
      request[8] = static_cast<char>(id);
      client.SendRaw(pings + request);
      while (server->Describe(1).at(0).requests < requests) std::this_thread::yield();
      if (server->Describe(1).at(0).unsent_bytes > 0) ++blocked;
    }
    EXPECT_THAT(server->unsent_bytes(), Gt(int64_t{4 * 100 * 17}));
    EXPECT_EQ(server->Describe(1).at(0).unsent_bytes, server->unsent_bytes());
  };
  {
    Http2Client reading(server->address());
    fill(reading);
    EXPECT_TRUE(reading.Until([&] { return server->unsent_bytes() == 0; }));
  }
  EXPECT_TRUE(closings.Await("client"));
  Http2Client leaving(server->address());
  fill(leaving);
  leaving.Break();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (server->connections() > 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(server->unsent_bytes(), 0);
}

}  // namespace
}  // namespace vitrine
