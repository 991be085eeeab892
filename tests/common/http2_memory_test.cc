// SPDX-License-Identifier: Apache-2.0
// Tests that a few bytes of HTTP/2 cannot occupy much memory or time of the server.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/http/server.h"
#include "tests/common/http2_client.h"

namespace vitrine {
namespace {

using ::testing::Lt;

// Never answers.
class SilentStream final : public HttpStreamHandler {
 public:
  explicit SilentStream(std::shared_ptr<HttpStream> stream) : stream_(std::move(stream)) {}
  void OnData(absl::string_view bytes) override { stream_->Consume(bytes.size()); }
  void OnEnd() override {}
  void OnTooSlow() override {}
  void OnClosed(bool) override {}

 private:
  const std::shared_ptr<HttpStream> stream_;
};

HttpHandler StaySilent(bool drops_headers) {
  return [drops_headers](const std::shared_ptr<HttpRequest>& request) {
    if (drops_headers) request->head.headers.clear();
    return HttpHandling::Stream(
        [](std::shared_ptr<HttpStream> stream) { return std::make_shared<SilentStream>(std::move(stream)); });
  };
}

// Returns true if the budget is not used within five seconds.
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

TEST(Http2Memory, ResetsOfClosedStreamsCountAsResets) {
  HttpServerOptions options = {.listen = "127.0.0.1:0"};
  options.abuse.connection_burst = 100;
  options.abuse.connection_rate = 1;
  const auto server = *HttpServer::Start(
      options, [](const std::shared_ptr<HttpRequest>&) { return HttpHandling::Answer({.body = "done"}); });
  Http2Client client(server->address());
  EXPECT_EQ(client.Get("/").body, "done");
  const std::string reset("\0\0\4\3\0\0\0\0\1\0\0\0\x8", 13);  // RST_STREAM of stream 1 with CANCEL
  for (int i = 0; i < 200; ++i) client.SendRaw(reset);
  EXPECT_TRUE(client.AwaitEnd());
  ASSERT_FALSE(client.goaways.empty());
  EXPECT_EQ(client.goaways.back().code, uint32_t{NGHTTP2_ENHANCE_YOUR_CALM});
}

}  // namespace
}  // namespace vitrine
