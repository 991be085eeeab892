// SPDX-License-Identifier: Apache-2.0
// Tests how HTTP/1 connections share a thread, how long they stay open, and that responses have the id of the request.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/http/address_limits.h"
#include "common/http/loop.h"
#include "common/http/server.h"
#include "tests/common/http1_client.h"
#include "tests/common/http2_client.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::unique_ptr<HttpServer> StartHttp1(HttpServerOptions options, const HttpHandler& handler) {
  options.listen = "127.0.0.1:0";
  absl::StatusOr<std::unique_ptr<HttpServer>> server = HttpServer::Start(options, handler);
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

HttpHandling Here(const std::shared_ptr<HttpRequest>&) {
  return HttpHandling::Answer({.type = kPlainText, .body = "here"});
}

std::string Get(const std::string& headers, const std::string& version = "1.1") {
  return absl::StrCat("GET / HTTP/", version, "\r\nHost: x\r\n", headers, "\r\n");
}

// While the thread of the connections is blocked, a large body and then a small request arrive. The thread must read
// the body only once before it reads the small request.
TEST(Http1Server, AnUploadIsReadOncePerTurn) {
  const auto received = std::make_shared<ByteBudget>(64 << 20);
  std::promise<void> blocked, released;
  std::atomic<int64_t> read_before = -1;
  const auto server = StartHttp1({.listen = "", .received = received}, [&](const auto& request) {
    if (request->path() == "/block") {
      blocked.set_value();
      released.get_future().wait();
    }
    if (request->path() == "/small") read_before = received->used();
    if (request->method() == "GET") return Here(request);
    return HttpHandling::Read(
        [](const auto&, const std::shared_ptr<HttpReply>& reply) { reply->Send([] { return HttpResponse(); }); });
  });
  Http1Client upload(server->address()), small(server->address()), blocks(server->address());
  upload.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 16000000\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_THAT(upload.Read(), StartsWith("HTTP/1.1 100"));
  constexpr int64_t kBegun = (2 << 20) + (64 << 10);  // beyond 2 MiB, each byte of a body counts when it arrives
  upload.Send(std::string(kBegun, 'x'));
  while (received->used() < kBegun) std::this_thread::yield();
  const int64_t before = received->used();
  blocks.Send("GET /block HTTP/1.1\r\nHost: x\r\n\r\n");
  blocked.get_future().wait();
  EXPECT_GT(upload.SendWithoutWaiting(std::string(13'000'000, 'x')), size_t{128} << 10);
  small.Send("GET /small HTTP/1.1\r\nHost: x\r\n\r\n");
  released.set_value();
  EXPECT_THAT(small.ReadUntil("here"), EndsWith("here"));
  EXPECT_LE(read_before - before, (128 << 10) + 1024) << "one read; some of the counted bytes are headers";
}

TEST(Http1Server, ClosesTheConnectionIfTheClientDoesNotKeepIt) {
  LastClose closed;
  const auto server = StartHttp1({.listen = "", .observer = &closed}, Here);
  for (const std::string& request : {Get("Connection: close\r\n"), Get("", "1.0")}) {
    Http1Client client(server->address());
    client.Send(request);
    EXPECT_THAT(client.ReadAll(), AllOf(HasSubstr("\r\nConnection: close\r\n"), EndsWith("\r\n\r\nhere")));
    client.HangUp();
    EXPECT_EQ(closed.Await(), "done");
  }
}

TEST(Http1Server, AShutdownAsksTheClientToCloseAfterItsNextResponse) {
  LastClose closed;
  const auto server = StartHttp1({.listen = "", .observer = &closed}, Here);
  Http1Client used(server->address());
  used.Send(Get(""));
  EXPECT_THAT(used.ReadUntil("here"), Not(HasSubstr("Connection:")));
  server->StartLeaving();
  Http1Client late(server->address());
  for (Http1Client* const client : {&used, &late}) {
    client->Send(Get(""));
    EXPECT_THAT(client->ReadUntil("here"), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("\r\nConnection: close\r\n")));
    EXPECT_EQ(client->Read(), "") << "the connection was reset";
    client->HangUp();
    EXPECT_EQ(closed.Await(), "shutdown");
  }
}

TEST(Http1Server, KeepsAConnectionForTheNextRequest) {
  const auto server = StartHttp1({}, Here);
  Http1Client client(server->address());
  client.Send(Get("Connection: keep-alive\r\n", "1.0"));
  EXPECT_THAT(client.ReadUntil("here"), HasSubstr("\r\nConnection: keep-alive\r\n"));
  client.Send(Get(""));
  EXPECT_THAT(client.ReadUntil("here"), AllOf(StartsWith("HTTP/1.1 200"), Not(HasSubstr("Connection:"))));
}

TEST(Http1Server, AnIdleConnectionIsClosed) {
  LastClose closed;
  const auto server = StartHttp1({.listen = "", .idle_timeout = absl::Milliseconds(300), .observer = &closed}, Here);
  Http1Client client(server->address());
  client.Send(Get(""));
  EXPECT_THAT(client.ReadUntil("here"), Not(HasSubstr("Connection:")));
  EXPECT_EQ(client.Read(), "");
  EXPECT_EQ(closed.Await(), "idle");
}

TEST(Http1Server, AnOldConnectionIsClosedAfterItsRequest) {
  LastClose closed;
  std::promise<std::shared_ptr<HttpReply>> asked;
  const HttpServerOptions options = {.listen = "", .max_age = absl::Milliseconds(200), .observer = &closed};
  const auto server = StartHttp1(options, [&](const auto& request) {
    if (request->path() == "/") return Here(request);
    return HttpHandling::Read(
        [&](const auto&, std::shared_ptr<HttpReply> reply) { asked.set_value(std::move(reply)); });
  });
  Http1Client busy(server->address());
  busy.Send("GET /busy HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::shared_ptr<HttpReply> reply = asked.get_future().get();
  Http1Client idle(server->address());
  idle.Send(Get(""));
  EXPECT_THAT(idle.ReadAll(), Not(HasSubstr("Connection:")));
  EXPECT_EQ(closed.Await(), "age");
  while (server->Describe(1).at(0).age < absl::Seconds(1)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  reply->Send([] { return HttpResponse{.body = "late"}; });
  EXPECT_THAT(busy.ReadAll(), AllOf(HasSubstr("\r\nConnection: close\r\n"), EndsWith("late")));
  busy.HangUp();
  EXPECT_EQ(closed.Await(), "age");
}

TEST(Http1Server, EveryResponseHasTheIdOfItsRequest) {
  const auto server = StartHttp1({.listen = "", .read_only = true, .max_head_bytes = 1000}, Here);
  const auto answer = [&](const std::string& request) {
    Http1Client client(server->address());
    client.Send(request);
    return client.ReadAll();
  };
  const auto has_id = HasSubstr("\r\nx-request-id: a b/c-1\r\n");
  const std::string id = "X-Request-ID: a b/c-1\r\nConnection: close\r\n";
  EXPECT_THAT(answer(Get(id)), AllOf(StartsWith("HTTP/1.1 200"), has_id));
  EXPECT_THAT(answer("PUT / HTTP/1.1\r\nHost: x\r\n" + id + "\r\n"), AllOf(StartsWith("HTTP/1.1 405"), has_id));
  EXPECT_THAT(answer("GET / HTTP/1.1\r\n" + id + "\r\n"), AllOf(StartsWith("HTTP/1.1 400"), has_id)) << "no Host";
  EXPECT_THAT(answer(Get(id + "no colon\r\n")), AllOf(StartsWith("HTTP/1.1 400"), has_id));
  const std::string no_id = "\r\nx-request-id:";
  for (const std::string& other : {std::string(), std::string(129, 'x'), std::string("\xC3\xA9")}) {
    EXPECT_THAT(answer(Get("x-request-id: " + other + "\r\nConnection: close\r\n")), Not(HasSubstr(no_id))) << other;
  }
  EXPECT_THAT(answer(Get(id + id)), Not(HasSubstr(no_id))) << "two ids";
  Http2Client over_http2(server->address());
  const int32_t stream = over_http2.Begin("/", "", true, {{"x-request-id", "a b/c-1"}});
  EXPECT_EQ(over_http2.Await(stream).headers.at("x-request-id"), "a b/c-1");
}

// The loop starts when the connection is queued and the shutdown has begun. The whole request is in the kernel.
TEST(Http1Server, ARequestThatHasArrivedIsAnsweredDuringTheShutdown) {
  const auto common = std::make_shared<HttpCommon>();
  common->received = std::make_shared<ByteBudget>(1 << 20);
  common->addresses = std::make_unique<AddressLimits>(common->options.abuse);
  common->workers = std::make_unique<Workers>(Workers::Options{.name = "http", .threads = 1});
  common->handler = [](const auto&) {
    return HttpHandling::Read([](const absl::StatusOr<std::string>& body, const std::shared_ptr<HttpReply>& reply) {
      reply->Send([&] { return HttpResponse{.body = absl::StrCat(body.ok() ? body->size() : 0, " bytes")}; });
    });
  };
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  FileDescriptor client(ends[1]);
  HttpLoop::Accepted accepted = {.socket = FileDescriptor(ends[0])};
  accepted.address.ss_family = AF_UNIX;
  const std::string request = absl::StrCat("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n",
                                           std::string(100'000, 'x'), "\r\n0\r\n\r\n");
  ASSERT_EQ(send(client.get(), request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  ASSERT_TRUE(common->workers->Start().ok());
  auto loop = HttpLoop::Make(common);
  ASSERT_TRUE(loop.ok());
  (*loop)->Adopt(std::move(accepted));
  (*loop)->StartEnding(absl::Seconds(20));
  ASSERT_TRUE((*loop)->Start(nullptr).ok());
  fcntl(client.get(), F_SETFL, 0);
  std::string read(4096, '\0');
  read.resize(static_cast<size_t>(std::max<ssize_t>(recv(client.get(), read.data(), read.size(), 0), 0)));
  EXPECT_THAT(read, AllOf(StartsWith("HTTP/1.1 200"), EndsWith("100000 bytes")));
  client = FileDescriptor();
  (*loop)->Join();
  common->workers.reset();
}

}  // namespace
}  // namespace vitrine
