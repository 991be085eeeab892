// SPDX-License-Identifier: Apache-2.0
// Tests that the worker threads serve callers in turn, alone and in a server.
#include "common/http/workers.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/http/server.h"
#include "common/mutex.h"
#include "tests/common/http2_client.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using Result = Workers::Result;

// Names of finished work, in order.
class Order {
 public:
  void Add(const std::string& name) {
    MutexLock lock(mutex_);
    names_.push_back(name);
    changed_.NotifyAll();
  }
  // Waits until `count` pieces of work are finished.
  std::vector<std::string> Await(size_t count) {
    MutexLock lock(mutex_);
    while (names_.size() < count) changed_.Wait(mutex_);
    return names_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> names_ ABSL_GUARDED_BY(mutex_);
};

// Work that occupies a thread until Open is called.
class Gate {
 public:
  std::function<void()> Work() {
    return [this] {
      began_.set_value();
      open_.wait();
    };
  }
  void AwaitBegin() { began_.get_future().wait(); }
  void Open() { opens_.set_value(); }

 private:
  std::promise<void> began_, opens_;
  const std::shared_future<void> open_ = opens_.get_future().share();
};

TEST(Workers, AccountsTakeTurnsAndHaveALimit) {
  Order order;
  Gate gate;
  Workers workers({.threads = 1, .most = 5, .most_per_account = 3});
  ASSERT_TRUE(workers.Start().ok());
  ASSERT_EQ(workers.Do("a", gate.Work()), Result::kQueued);
  gate.AwaitBegin();
  const auto add = [&](const std::string& account) {
    return workers.Do(account, [&order, account] { order.Add(account); });
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(add("a"), Result::kQueued);
  EXPECT_EQ(add("a"), Result::kAccountFull);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(add("b"), Result::kQueued);
  EXPECT_EQ(add("c"), Result::kFull);
  gate.Open();
  EXPECT_THAT(order.Await(5), ElementsAre("a", "b", "a", "b", "a"));
}

TEST(Workers, WorkOnBodiesLeavesAThreadFree) {
  Order order;
  Gate gate;
  Workers workers({.threads = 2});
  ASSERT_TRUE(workers.Start().ok());
  workers.Do("a", gate.Work(), /*on_a_body=*/true);
  gate.AwaitBegin();
  workers.Do(
      "b", [&] { order.Add("body"); }, /*on_a_body=*/true);
  for (int i = 0; i < 2; ++i) workers.Do("a", [&] { order.Add("other"); });
  EXPECT_THAT(order.Await(2), ElementsAre("other", "other"));
  gate.Open();
  EXPECT_THAT(order.Await(3), ElementsAre("other", "other", "body"));
}

// A client queues a hundred slow requests; a client with another address must not wait for them.
TEST(HttpServer, ServesTheAddressesInTurn) {
  Order order;
  Gate gates[2];
  HttpServerOptions options = {.listen = "127.0.0.1:0", .threads = 2};
  const auto server = HttpServer::Start(options, [&](const std::shared_ptr<HttpRequest>& request) {
    const std::string path = request->path();
    if (path == "/now") return HttpHandling::Answer({.body = "now"});
    return HttpHandling::Make([&, path] {
      if (path == "/gate0") gates[0].Work()();
      if (path == "/gate1") gates[1].Work()();
      order.Add(path);
      return HttpResponse{.body = path};
    });
  });
  ASSERT_TRUE(server.ok()) << server.status();
  Http2Client many((*server)->address());
  Http2Client one((*server)->address(), "", 1 << 20, /*from=*/"127.0.0.2");
  for (int i = 0; i < 2; ++i) {
    many.Begin(absl::StrCat("/gate", i));
    gates[i].AwaitBegin();
  }
  for (int i = 0; i < 100; ++i) many.Begin("/many");
  EXPECT_EQ(many.Get("/now").body, "now");  // the requests before this one are queued
  const int32_t id = one.Begin("/one");
  EXPECT_EQ(one.Get("/now").body, "now");
  gates[0].Open();
  EXPECT_EQ(one.Await(id).body, "/one");
  gates[1].Open();
  const std::vector<std::string> done = order.Await(103);
  EXPECT_LE(std::find(done.begin(), done.end(), "/one") - done.begin(), 5);
}

}  // namespace
}  // namespace vitrine
