// SPDX-License-Identifier: Apache-2.0
// Tests that a connection ends at its maximum age and at the server's shutdown, and that its flow-control window grows.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/http/connection.h"
#include "common/http/event_loop.h"
#include "common/http/protocol/flow_window.h"
#include "common/http/server.h"
#include "tests/common/http2_client.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

HttpHandling AnswerSize(const std::shared_ptr<HttpRequest>&) {
  return HttpHandling::Read([](const absl::StatusOr<std::string>& body, const std::shared_ptr<HttpReply>& reply) {
    reply->Send([&] { return HttpResponse{.body = std::to_string(body.ok() ? body->size() : 0)}; });
  });
}

// Starts a server. The default handler answers with the size of the request's body.
std::unique_ptr<HttpServer> Serve(HttpServerOptions options, const HttpHandler& handler = AnswerSize) {
  if (options.socket.empty()) options.listen = "127.0.0.1:0";
  absl::StatusOr<std::unique_ptr<HttpServer>> server = HttpServer::Start(options, handler);
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

TEST(ConnectionAge, IsSpreadOverTenPercentInBothDirections) {
  double least = 2, most = 0;
  for (int i = 0; i < 1000; ++i) {
    const double factor = std::chrono::duration<double>(SpreadAge(absl::Seconds(1000))).count() / 1000;
    least = std::min(least, factor);
    most = std::max(most, factor);
  }
  EXPECT_GE(least, 0.9);
  EXPECT_LT(least, 0.92);
  EXPECT_GT(most, 1.08);
  EXPECT_LE(most, 1.1);
  EXPECT_EQ(SpreadAge(absl::InfiniteDuration()), SpreadAge(absl::InfiniteDuration()));
}

TEST(ConnectionAge, AnOpenRequestMayFinishDuringTheGrace) {
  const auto server = Serve({.listen = "",
                             .max_age = absl::Milliseconds(500),
                             .age_grace = absl::Minutes(1),
                             .keepalive_time = absl::Milliseconds(100)});
  Http2Client client(server->address());
  const int32_t open = client.Begin("/", "12345", false);
  ASSERT_TRUE(client.Until([&] { return client.goaways.size() == 2; }));
  const int pings = client.pings;
  ASSERT_TRUE(client.Until([&] { return client.pings >= pings + 3; })) << "closed before the end of the grace";
  EXPECT_EQ(client.goaways[1].last_stream, open);
  EXPECT_EQ(client.goaways[1].why, "age");
  client.Finish(open);
  EXPECT_EQ(client.Await(open).body, "5");
  EXPECT_TRUE(client.AwaitEnd());
}

TEST(ConnectionAge, AnUnfinishedRequestEndsWithTheGrace) {
  const auto server = Serve({.listen = "", .max_age = absl::Milliseconds(500), .age_grace = absl::Milliseconds(300)});
  Http2Client client(server->address());
  const int32_t open = client.Begin("/", "12345", false);
  EXPECT_TRUE(client.AwaitEnd());
  EXPECT_FALSE(client.goaways.empty());
  EXPECT_FALSE(client.responses[open].is_ended);
}

// While the server's event loop is blocked, a second client connects and sends a request, and then the shutdown begins.
TEST(ConnectionEnd, ARequestOfAPendingConnectionIsAnsweredAtShutdown) {
  const ScratchFolder folder;
  const std::string address = "unix://" + folder.Path("socket");
  std::promise<void> blocked, released;
  const auto server = Serve({.listen = "", .socket = address}, [&](const std::shared_ptr<HttpRequest>& request) {
    if (request->path() == "/block") {
      blocked.set_value();
      released.get_future().wait();
    }
    return HttpHandling::Answer({.body = "answer"});
  });
  Http2Client first(address);
  first.Begin("/block");
  blocked.get_future().wait();
  Http2Client second(address);
  const int32_t request = second.Begin("/");
  std::thread shutdown([&] { server->Shutdown(absl::Seconds(10)); });
  while (std::filesystem::exists(folder.Path("socket"))) std::this_thread::yield();  // until the shutdown has begun
  released.set_value();
  EXPECT_EQ(second.Await(request).body, "answer");
  EXPECT_TRUE(second.AwaitEnd());
  shutdown.join();
}

EventLoop::Time time_of_connections = EventLoop::Time(std::chrono::hours(1));

EventLoop::Time TimeOfConnections() {
  return time_of_connections;
}

// Opens a connection whose client sends nothing and stays connected, then calls `act` with it. Returns the time for
// which the connection then stays open, on a simulated clock.
std::chrono::milliseconds TimeUntilClosed(bool is_shutting_down, const std::function<void(HttpConnection&)>& act) {
  constexpr std::chrono::milliseconds kStep{10};
  const std::shared_ptr<EventLoop> loop = *EventLoop::Make(TimeOfConnections);
  int sockets[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
  const FileDescriptor client(sockets[1]);
  const auto common = std::make_shared<HttpCommon>();
  common->is_shutting_down = is_shutting_down;
  std::vector<char> scratch(1024);
  sockaddr_storage address = {};
  address.ss_family = AF_UNIX;
  const auto connection =
      std::make_shared<HttpConnection>(*loop, FileDescriptor(sockets[0]), address, nullptr, /*is_from_proxy=*/false,
                                       common, scratch, [](HttpConnection&) {});
  std::chrono::milliseconds open{0};
  const auto advance = [&] {
    time_of_connections += kStep;
    open += kStep;
  };
  loop->Post([&] {
    connection->Begin();
    act(*connection);
    advance();
  });
  loop->Run(kStep, [&] {
    connection->OnTick();
    if (connection->is_closed() || open > std::chrono::minutes(1)) return loop->Stop();
    advance();
  });
  return open;
}

TEST(ConnectionEnd, AClientHasHalfASecondAtTheEndOfTheServer) {
  const auto linger = [](HttpConnection& connection) { connection.Linger(CloseReason::kShutdown); };
  EXPECT_EQ(TimeUntilClosed(true, [](HttpConnection& connection) { connection.End(); }), std::chrono::milliseconds(500))
      << "to send its first request";
  EXPECT_EQ(TimeUntilClosed(true, linger), std::chrono::milliseconds(500)) << "to read the last response or GOAWAY";
  EXPECT_EQ(TimeUntilClosed(false, linger), std::chrono::seconds(1)) << "while the server serves";
}

// The client delays its answer to the server's PING until it has sent a whole window. This simulates a long round trip.
TEST(ConnectionWindow, GrowsIfItIsUsedUpWithinARoundTrip) {
  const auto server = Serve({});
  Http2Client client(server->address());
  client.Get("/");
  EXPECT_EQ(client.stream_window(), static_cast<uint32_t>(FlowWindow::kFirst));
  client.holds_answers = true;
  const int32_t large = client.Begin("/", std::string(FlowWindow::kFirst, 'x'));
  EXPECT_EQ(client.Await(large).body, std::to_string(FlowWindow::kFirst));
  client.holds_answers = false;
  client.Get("/");  // sends the answer to the PING
  EXPECT_TRUE(client.Until([&] { return client.stream_window() == 4u * FlowWindow::kFirst; }));
}

}  // namespace
}  // namespace vitrine
