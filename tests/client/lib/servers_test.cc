// SPDX-License-Identifier: Apache-2.0
// Tests servers whose host names change their addresses. This file replaces the resolver for these names. The system
// resolves all other names.
#include "client/lib/servers.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <map>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/load/load.h"
#include "client/load/workload/workload.h"
#include "tests/client/lib/small_server.h"
#include "tests/scratch_folder.h"

namespace {

std::mutex g_mutex;
std::map<std::string, std::string>& Places() {
  static auto* const places = new std::map<std::string, std::string>;
  return *places;
}

// Sets the address of a name. If `address` is empty, the name has no address.
void Place(const std::string& name, const std::string& address) {
  const std::lock_guard lock(g_mutex);
  Places()[name] = address;
}

}  // namespace

extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
  using Function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto system = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "getaddrinfo"));
  std::string place;
  {
    const std::lock_guard lock(g_mutex);
    const auto moved = node == nullptr ? Places().end() : Places().find(node);
    if (moved == Places().end()) return system(node, service, hints, found);
    place = moved->second;
  }
  return place.empty() ? EAI_NONAME : system(place.c_str(), service, hints, found);
}

namespace vitrine {
namespace {

using testing::HasSubstr;

grpc::Status ClassifyAny(const v1::ClassifyRequest& request, v1::ClassifyResponse* response, grpc::ServerContext*) {
  *response = AnswerTo(request);
  return grpc::Status::OK;
}

// Two host names. No server listens at their addresses until Move() gives a.test the server's address.
class MovingNames : public testing::Test {
 protected:
  MovingNames() {
    Place("a.test", "127.0.0.2");
    Place("b.test", "127.0.0.3");
  }
  ~MovingNames() override { Places().clear(); }

  std::string List() const {
    const std::string port = server_.address().substr(server_.address().rfind(':'));
    return absl::StrCat("a.test", port, ",b.test", port);
  }
  static void Move() {
    Place("a.test", "127.0.0.1");
    Place("b.test", "");
  }

  const SmallServer server_{{.classify = ClassifyAny, .stream = [](StreamOfServer* stream, grpc::ServerContext*) {
                               for (v1::ClassifyRequest request; stream->Read(&request);) {
                                 stream->Write(StreamAnswerTo(request));
                               }
                               return grpc::Status::OK;
                             }}};
};

TEST_F(MovingNames, AreResolvedAgainAfterALostCall) {
  const auto servers = Servers::Open({.address = List()});
  ASSERT_TRUE(servers.ok()) << servers.status();
  const std::shared_ptr<grpc::Channel> before = (*servers)->channel();
  (*servers)->Look();
  EXPECT_EQ((*servers)->channel(), before) << "unchanged addresses must not change the channel";
  Move();
  (*servers)->Look();
  EXPECT_EQ((*servers)->channel(), before) << "names must be resolved at most once per second";
  absl::SleepFor(absl::Milliseconds(1100));
  EXPECT_EQ((*servers)->Follow(absl::NotFoundError("no"), "").message(), "no");
  EXPECT_EQ((*servers)->channel(), before) << "an error from a server must not resolve the names again";
  EXPECT_TRUE(absl::IsUnavailable((*servers)->Follow(absl::UnavailableError("gone"), "")));
  EXPECT_NE((*servers)->channel(), before);
  EXPECT_TRUE((*servers)->channel()->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(20)));
}

TEST_F(MovingNames, KeepTheChannelWithoutAnAddress) {
  const auto servers = Servers::Open({.address = List()});
  ASSERT_TRUE(servers.ok()) << servers.status();
  const std::shared_ptr<grpc::Channel> before = (*servers)->channel();
  Place("a.test", "");
  Place("b.test", "");
  (*servers)->Look();
  EXPECT_EQ((*servers)->channel(), before);
  EXPECT_THAT(Servers::Open({.address = List()}).status().message(), HasSubstr("no address of a.test"));
}

// Both names first have the address of a server that stops. Then a.test gets the address of another server, and b.test
// has no address.
TEST_F(MovingNames, AreFollowedByCalls) {
  Place("a.test", "127.0.0.1");
  Place("b.test", "127.0.0.1");
  ClientOptions options{.address = List(), .deadline = absl::Seconds(20)};
  const auto client = Client::Connect(options);
  ASSERT_TRUE(client.ok()) << client.status();
  ASSERT_TRUE((*client)->Classify(RequestWith("1")).ok());
  const auto port = server_.address().substr(server_.address().rfind(':') + 1);
  const SmallServer other({.classify = ClassifyAny}, 64 << 20, nullptr, "127.0.0.9:" + port);
  Place("a.test", "127.0.0.9");
  Place("b.test", "");
  const_cast<SmallServer&>(server_).Stop();
  const auto answer = (*client)->Classify(RequestWith("7"));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->predictions(0).index(), 7);
}

TEST_F(MovingNames, AreFollowedByALoad) {
  Place("a.test", "127.0.0.1");
  Place("b.test", "127.0.0.1");
  const auto connections = OpenConnections({.address = List()}, 2);
  ASSERT_TRUE(connections.ok()) << connections.status();
  const auto port = server_.address().substr(server_.address().rfind(':') + 1);
  const SmallServer other({.classify = ClassifyAny}, 64 << 20, nullptr, "127.0.0.9:" + port);
  Place("a.test", "127.0.0.9");
  Place("b.test", "");
  std::thread ending([&] { const_cast<SmallServer&>(server_).Stop(); });
  RequestClass asked;
  asked.model.name = "m";
  const auto workload = PrepareWorkload({asked}, {});
  ASSERT_TRUE(workload.ok()) << workload.status();
  LoadSettings settings;
  settings.concurrency = 2;
  settings.duration = absl::Seconds(4);
  settings.allow_empty = true;
  uint64_t answered_last = 0;
  LoadHooks hooks;
  hooks.stopped = [] { return false; };
  hooks.progress = [&](const LoadProgress& progress) { answered_last = static_cast<uint64_t>(progress.answered); };
  RunLoad(*connections, *workload, settings, hooks);
  ending.join();
  EXPECT_GT(answered_last, 0U);
}

TEST(Servers, RereadTheTokenFileAfterARefusal) {
  const ScratchFolder folder;
  const std::string file = folder.Write("token", "first");
  const SmallServer server({.classify = [](const v1::ClassifyRequest& request, v1::ClassifyResponse* response,
                                           grpc::ServerContext* context) {
    for (const auto& [name, value] : context->client_metadata()) {
      if (name == "authorization" && value == "Bearer second") return ClassifyAny(request, response, context);
    }
    return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "who are you?");
  }});
  const auto client = Client::Connect({.address = server.address(), .token_file = file});
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ((*client)->Classify(RequestWith("7")).status().message(), "who are you?");
  folder.Write("token", "second");
  EXPECT_EQ((*client)->Classify(RequestWith("7"))->predictions(0).index(), 7);
}

}  // namespace
}  // namespace vitrine
