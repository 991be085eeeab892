// SPDX-License-Identifier: Apache-2.0
// Tests a server whose connections are spread over several threads.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/http/server.h"
#include "common/mutex.h"
#include "tests/common/http2_client.h"

namespace vitrine {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

// A server that answers with the id of the connection's thread, or keeps the request without an answer (path "/keep"),
// or blocks the thread until `go_on` is notified (path "/hang").
class LoopsServer {
 public:
  LoopsServer(int loops, int64_t max_connections) {
    const HttpServerOptions options = {.listen = "127.0.0.1:0", .loops = loops, .max_connections = max_connections};
    auto server = HttpServer::Start(options, [this](const std::shared_ptr<HttpRequest>& request) {
      if (request->path() == "/hang") {
        ++hung;
        go_on.WaitForNotification();
      }
      if (request->path() != "/keep") return HttpHandling::Answer({.body = ThisThread()});
      return HttpHandling::Read([this](const absl::StatusOr<std::string>&, std::shared_ptr<HttpReply> reply) {
        MutexLock lock(mutex_);
        kept_.push_back(std::move(reply));
        ++kept;
      });
    });
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  ~LoopsServer() { kept_.clear(); }

  std::unique_ptr<Http2Client> Connect() { return std::make_unique<Http2Client>(server_->address()); }
  HttpServer& server() { return *server_; }

  std::atomic<int> kept = 0;
  std::atomic<int> hung = 0;  // number of threads that are or were blocked
  absl::Notification go_on;

 private:
  static std::string ThisThread() { return absl::StrCat(std::hash<std::thread::id>()(std::this_thread::get_id())); }

  Mutex mutex_;
  std::vector<std::shared_ptr<HttpReply>> kept_;
  std::unique_ptr<HttpServer> server_;
};

TEST(HttpLoops, ANewConnectionGoesToTheLoopWithTheFewestConnections) {
  LoopsServer server(2, 0);
  std::vector<std::unique_ptr<Http2Client>> clients;
  std::vector<std::string> threads;
  const auto connect = [&] {
    clients.push_back(server.Connect());
    threads.push_back(clients.back()->Get("/").body);
  };
  for (int i = 0; i < 6; ++i) connect();
  for (int i = 2; i < 6; ++i) EXPECT_EQ(threads[i], threads[i - 2]);
  EXPECT_NE(threads[0], threads[1]);
  EXPECT_EQ(server.server().connections(), 6);
  EXPECT_EQ(server.server().Describe(100).size(), 6u);
  EXPECT_EQ(server.server().Describe(100).front().protocol, "h2");
  for (const int i : {0, 2, 4}) clients[i].reset();
  while (server.server().connections() > 3) std::this_thread::yield();
  for (int i = 0; i < 3; ++i) {
    connect();
    EXPECT_EQ(threads.back(), threads[0]) << "the other loop has three connections";
  }
}

TEST(HttpLoops, TheLargestConnectionsAreDescribedFirst) {
  LoopsServer server(2, 0);
  std::vector<std::unique_ptr<Http2Client>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(server.Connect());
    EXPECT_THAT(clients.back()->Get("/").body, Not(IsEmpty()));
  }
  clients[2]->Begin("/keep", "body");
  clients[2]->Begin("/keep", "body");
  clients[1]->Begin("/keep", "a longer body of a single request");
  while (server.kept < 3) std::this_thread::yield();
  const std::vector<HttpConnectionStatus> all = server.server().Describe(100), two = server.server().Describe(2);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].streams, 2);
  EXPECT_EQ(all[1].streams, 1);
  EXPECT_EQ(all[3].streams, 0);
  EXPECT_GT(all[1].received_bytes, all[3].received_bytes + 34);
  EXPECT_GT(all[3].received_bytes, 24) << "at least the preface of HTTP/2";
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].peer, all[0].peer);
  EXPECT_EQ(two[1].peer, all[1].peer);
}

TEST(HttpLoops, ThreadsThatHangDoNotStopTheDescriptionOfTheOthers) {
  constexpr int kLoops = 10;
  LoopsServer server(kLoops, 0);
  std::vector<std::unique_ptr<Http2Client>> clients;
  for (int i = 0; i < kLoops; ++i) {
    clients.push_back(server.Connect());
    EXPECT_THAT(clients.back()->Get("/").body, Not(IsEmpty()));
  }
  for (int i = 0; i + 1 < kLoops; ++i) clients[i]->Begin("/hang", "");
  while (server.hung + 1 < kLoops) std::this_thread::yield();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(server.server().Describe(100).size(), 1u);
  // Half a second for each of the nine threads would be 4.5 seconds.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
  server.go_on.Notify();
}

// The connections of the first event loop have open requests, so an idle connection of the second loop must be closed.
TEST(HttpLoops, AnIdleConnectionOfAnyLoopIsClosedForANewOne) {
  LoopsServer server(2, 4);
  std::vector<std::unique_ptr<Http2Client>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(server.Connect());
    EXPECT_THAT(clients.back()->Get("/").body, Not(IsEmpty()));
  }
  for (const int i : {0, 2}) {
    clients[i]->Begin("/keep", "body");
    while (server.kept <= i / 2) std::this_thread::yield();
  }
  for (const int i : {1, 3}) {
    clients.push_back(server.Connect());
    EXPECT_THAT(clients.back()->Get("/").body, Not(IsEmpty()));
    EXPECT_TRUE(clients[i]->AwaitEnd()) << "the longest idle connection is closed";
    EXPECT_EQ(server.server().connections(), 4);
  }
}

TEST(HttpLoops, AServerWithoutIdleConnectionsRejectsANewOne) {
  LoopsServer server(2, 2);
  std::vector<std::unique_ptr<Http2Client>> clients;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(server.Connect());
    clients.back()->Begin("/keep", "body");
    while (server.kept <= i) std::this_thread::yield();
  }
  EXPECT_TRUE(server.Connect()->AwaitEnd());
  EXPECT_EQ(server.server().connections(), 2);
}

}  // namespace
}  // namespace vitrine
