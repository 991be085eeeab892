// SPDX-License-Identifier: Apache-2.0
// Tests a server whose connections are spread over several threads.
#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/http/server.h"
#include "common/mutex.h"
#include "tests/common/http2_client.h"

namespace vitrine {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

// A server that answers with the id of the connection's thread, or keeps the request without an answer (path "/keep").
class LoopsServer {
 public:
  LoopsServer(int loops, int64_t max_connections) {
    const HttpServerOptions options = {.listen = "127.0.0.1:0", .loops = loops, .max_connections = max_connections};
    auto server = HttpServer::Start(options, [this](const std::shared_ptr<HttpRequest>& request) {
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
