// SPDX-License-Identifier: Apache-2.0
// Tests that a connection does not delay the others on its thread, and that the connections of an address share points
// (see HttpAbuseLimits).
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/http/server.h"
#include "tests/common/http2_client.h"

namespace vitrine {
namespace {

std::unique_ptr<HttpServer> StartFair(HttpServerOptions options, const HttpHandler& handler) {
  options.listen = "127.0.0.1:0";
  absl::StatusOr<std::unique_ptr<HttpServer>> server = HttpServer::Start(options, handler);
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

// Tests HTTP/2 as Http1Server.AnUploadIsReadOncePerTurn tests HTTP/1. The body fits in the sockets' buffers, so the
// client can send it while the server's thread is blocked.
TEST(Http2Server, AnUploadIsReadOncePerTurn) {
  const auto received = std::make_shared<ByteBudget>(64 << 20);
  std::promise<void> blocked, released;
  std::atomic<int64_t> read_before = -1;
  const auto server = StartFair({.listen = "", .received = received}, [&](const auto& request) {
    if (request->path() == "/block") {
      blocked.set_value();
      released.get_future().wait();
    }
    if (request->path() == "/small") read_before = received->used();
    if (request->method() == "GET") return HttpHandling::Answer({.body = "here"});
    return HttpHandling::Read(
        [](const auto&, const std::shared_ptr<HttpReply>& reply) { reply->Send([] { return HttpResponse(); }); });
  });
  Http2Client upload(server->address()), small(server->address()), blocks(server->address());
  // Each of these requests has less than 1 KiB, so the server limits the next read from `upload` to 8 KiB. `upload`
  // sends two requests, so that this also holds if the first request arrives together with the preface.
  for (Http2Client* const client : {&upload, &upload, &small, &blocks}) EXPECT_EQ(client->Get("/").body, "here");
  blocks.Begin("/block");
  blocked.get_future().wait();
  const int32_t body = upload.Begin("/", std::string(240'000, 'x'));
  const int32_t request = small.Begin("/small");
  released.set_value();
  EXPECT_EQ(small.Await(request).body, "here");
  EXPECT_EQ(upload.Await(body).headers.at(":status"), "200");
  EXPECT_LT(read_before, 16 << 10) << "the server read the upload twice";
  EXPECT_GT(read_before, 0) << "the server read the upload after the small request";
}

TEST(Http2Server, ManyRequestsAreReadInSmallSteps) {
  constexpr int kMany = 200;
  const std::string long_path = "/?" + std::string(500, 'x');
  std::promise<void> blocked, released;
  std::atomic<int> begun = 0, begun_before = -1;
  const auto server = StartFair({.listen = ""}, [&](const auto& request) {
    if (request->path() == "/block") {
      blocked.set_value();
      released.get_future().wait();
    }
    if (request->path() == "/small") begun_before = begun.load();
    ++begun;
    return HttpHandling::Answer({.body = "here"});
  });
  Http2Client many(server->address()), small(server->address()), blocks(server->address());
  for (Http2Client* const client : {&many, &small, &blocks}) EXPECT_EQ(client->Get("/").body, "here");
  const auto send = [&](int count) {
    std::vector<int32_t> ids;
    for (int i = 0; i < count; ++i) {
      many.holds_requests = i + 1 < count;
      ids.push_back(many.Begin(long_path + std::to_string(i)));
    }
    return ids;
  };
  for (const int32_t id : send(kMany)) EXPECT_EQ(many.Await(id).body, "here");
  begun = 0;
  blocks.Begin("/block");
  blocked.get_future().wait();
  const std::vector<int32_t> ids = send(kMany);
  const int32_t request = small.Begin("/small");
  released.set_value();
  EXPECT_EQ(small.Await(request).body, "here");
  for (const int32_t id : ids) EXPECT_EQ(many.Await(id).body, "here");
  EXPECT_LT(begun_before, kMany / 4);
  EXPECT_GT(begun_before, 1) << "the server read the small request first";
}

// Sends frames of an unknown type, which cost a point each, and then a request. Returns true if it is answered.
bool SpendPoints(Http2Client& client, int points) {
  std::string frames;
  for (int i = 0; i < points; ++i) frames += std::string("\0\0\0\xfe\0\0\0\0\0", 9);
  client.SendRaw(frames);
  return client.Get("/").body == "here";
}

TEST(HttpServer, TheConnectionsOfAnAddressShareItsPoints) {
  HttpServerOptions options;
  options.abuse = {.connection_burst = 1000, .connection_rate = 0, .address_burst = 600, .address_rate = 0};
  const auto server = StartFair(options, [](const auto&) { return HttpHandling::Answer({.body = "here"}); });
  const auto connect = [&](const std::string& from) {
    return std::make_unique<Http2Client>(server->address(), "", 1 << 20, from);
  };
  const auto first = connect("127.0.0.1"), second = connect("127.0.0.1"), third = connect("127.0.0.1");
  const auto other = connect("127.0.0.2");
  for (Http2Client* const client : {second.get(), third.get()}) EXPECT_TRUE(SpendPoints(*client, 0));
  EXPECT_TRUE(SpendPoints(*first, 400));
  EXPECT_FALSE(SpendPoints(*second, 300)) << "the first connection left 200 points";
  EXPECT_TRUE(SpendPoints(*third, 100)) << "a connection with most of its own points stays open";
  EXPECT_FALSE(SpendPoints(*third, 100)) << "each point costs four while the address has none";
  EXPECT_TRUE(SpendPoints(*other, 400)) << "another address has its own points";
  const auto late = connect("127.0.0.1"), late_other = connect("127.0.0.2");
  EXPECT_TRUE(SpendPoints(*late, 0)) << "a new connection has a hundredth of its points";
  EXPECT_FALSE(SpendPoints(*late, 20));
  EXPECT_TRUE(SpendPoints(*late_other, 20));
}

}  // namespace
}  // namespace vitrine
