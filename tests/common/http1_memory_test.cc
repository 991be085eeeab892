// SPDX-License-Identifier: Apache-2.0
// Tests that the bytes that a client sends ahead over HTTP/1 use little memory, which is counted.
#include <gmock/gmock.h>
#include <malloc.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/config.h"
#include "common/http/body.h"
#include "common/http/server.h"
#include "tests/common/http1_client.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kTenHeaders[] = "a: 1\r\nb: 2\r\nc: 3\r\nd: 4\r\ne: 5\r\nf: 6\r\ng: 7\r\nh: 8\r\ni: 9\r\nj: 0\r\n";
constexpr char kGet[] = "GET /here HTTP/1.1\r\nHost: x\r\n\r\n";
// Maximum number of bytes that HTTP/1 keeps while a request is being answered: up to kMostAhead, and one more read.
constexpr int64_t kMostKept = 32 << 10;
// Number of bytes that a client sends before it reads the response. They do not fit in the kernel's buffers.
constexpr size_t kMuch = 16 << 20;

// Waits up to five seconds. Returns true if the condition became true.
bool Becomes(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return condition();
}

std::string Gets(int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += kGet;
  return all;
}

// A server that answers "/here" at once. The test answers other requests, after their bodies were read.
class Http1Memory : public ::testing::Test {
 protected:
  Http1Memory() {
    server_ = *HttpServer::Start(
        {.listen = "127.0.0.1:0", .received = budget_, .observer = &closed_},
        [this](const std::shared_ptr<HttpRequest>& request) {
          if (request->path() == "/here") return HttpHandling::Answer({.type = kPlainText, .body = "here"});
          return HttpHandling::Read([this](absl::StatusOr<std::string> body, std::shared_ptr<HttpReply> reply) {
            used_ = budget_->used();
            body_ = std::move(body);
            working_.set_value(std::move(reply));
          });
        });
  }

  const std::shared_ptr<ByteBudget> budget_ = std::make_shared<ByteBudget>(1 << 20);
  std::promise<std::shared_ptr<HttpReply>> working_;
  absl::StatusOr<std::string> body_;
  int64_t used_ = 0;  // bytes in the budget when the handler got body_
  LastClose closed_;
  std::unique_ptr<HttpServer> server_;
};

#ifndef ABSL_HAVE_ADDRESS_SANITIZER  // AddressSanitizer's malloc does not support mallinfo2
// Returns the number of bytes that the process has allocated.
size_t Allocated() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST_F(Http1Memory, AnIdleConnectionKeepsNoBufferOfPipelinedRequests) {
  constexpr size_t kClients = 20;
  constexpr int kRequests = 2000;
  std::vector<std::unique_ptr<Http1Client>> clients;
  for (size_t i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<Http1Client>(server_->address()));
    ASSERT_TRUE(clients.back()->Send(kGet));
    EXPECT_THAT(clients.back()->ReadUntil("here"), EndsWith("here"));
  }
  const size_t before = Allocated();
  for (const auto& client : clients) {
    ASSERT_TRUE(client->Send(Gets(kRequests)));
    int answers = 0;
    for (std::string read; answers < kRequests; ++answers) {
      while (read.find("here") == std::string::npos) read += client->Read();
      read.erase(0, read.find("here") + 4);
    }
  }
  EXPECT_TRUE(Becomes([&] { return budget_->used() == 0; }));
  EXPECT_LT(Allocated(), before + kClients * 8192);
}
#endif

TEST_F(Http1Memory, BytesSentAheadOfAResponseAreFewAndCounted) {
  {
    Http1Client client(server_->address());
    ASSERT_TRUE(client.Send("POST /work HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n" + Gets(3000)));
    const std::shared_ptr<HttpReply> reply = working_.get_future().get();
    client.SendWithoutWaiting(Gets(40'000));
    EXPECT_TRUE(Becomes([&] { return budget_->used() > 16 << 10; }));
    Http1Client other(server_->address());
    for (int i = 0; i < 3; ++i) {  // meanwhile, the thread of both connections could read more
      other.Send(kGet);
      EXPECT_THAT(other.ReadUntil("here"), EndsWith("here"));
    }
    EXPECT_LE(budget_->used(), kMostKept);
    reply->Send([] { return HttpResponse{.body = "done"}; });
    client.SendWithoutWaiting(Gets(1));
    std::string read = client.Read();
    while (read.find("here") == std::string::npos) read += client.Read();
    EXPECT_THAT(read, AllOf(HasSubstr("done"), Not(HasSubstr("503"))));
  }
  EXPECT_TRUE(Becomes([&] { return budget_->used() == 0; }));
}

TEST_F(Http1Memory, TheBufferOfABodyIsCounted) {
  for (const bool is_chunked : {false, true}) {
    working_ = {};
    Http1Client client(server_->address());
    const std::string body(300'000, 'x');
    client.Send("POST /work HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
    client.Send(is_chunked ? "Transfer-Encoding: chunked\r\n\r\n493e0\r\n" + body + "\r\n0\r\n\r\n"
                           : "Content-Length: 300000\r\n\r\n" + body);
    working_.get_future().get()->Send([] { return HttpResponse{.body = "done"}; });
    EXPECT_THAT(client.ReadAll(), EndsWith("done"));
    ASSERT_TRUE(body_.ok()) << body_.status();
    EXPECT_EQ(*body_, body);
    EXPECT_GE(used_, static_cast<int64_t>(body_->capacity()));
    if (!is_chunked) {
      EXPECT_EQ(body_->capacity(), body.size());
    }
  }
}

// The parser consumes complete lines before all headers have arrived.
TEST_F(Http1Memory, HeadersCountUntilTheRequestEnds) {
  std::string many;
  for (int i = 0; i < 40; ++i) many += kTenHeaders;  // 400 headers, of 38 counted bytes each
  constexpr int64_t kLeast = 390 * 38 * 2;
  Http1Client client(server_->address());
  client.Send("POST /work HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n" + many);
  EXPECT_TRUE(Becomes([&] { return budget_->used() > kLeast; }));
  client.Send("\r\n12");
  EXPECT_TRUE(Becomes([&] { return budget_->used() > 2 * kLeast; })) << "in the parser and in the request";
  client.Send("34");
  const std::shared_ptr<HttpReply> reply = working_.get_future().get();
  EXPECT_TRUE(Becomes([&] { return budget_->used() > kLeast && budget_->used() < 2 * kLeast; }));
  reply->Send([] { return HttpResponse{.body = "done"}; });
  EXPECT_THAT(client.ReadUntil("done"), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(Becomes([&] { return budget_->used() == 0; })) << "the connection is still open";
  client.Send("GET /here HTTP/1.1\r\n" + many);
  EXPECT_TRUE(Becomes([&] { return budget_->used() > kLeast; }));
  client.HangUp();
  EXPECT_TRUE(Becomes([&] { return budget_->used() == 0; }));
}

TEST_F(Http1Memory, SmallHeadersOfAWholeRequestDoNotCount) {
  Http1Client client(server_->address());
  client.Send("POST /work HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n1");
  EXPECT_TRUE(Becomes([&] { return budget_->used() > 4; }));
  client.Send("234");
  const std::shared_ptr<HttpReply> reply = working_.get_future().get();
  body_ = "";
  EXPECT_TRUE(Becomes([&] { return budget_->used() == 0; })) << budget_->used();
  reply->Send([] { return HttpResponse{.body = "done"}; });
  EXPECT_THAT(client.ReadUntil("done"), StartsWith("HTTP/1.1 200"));
}

TEST_F(Http1Memory, LargeHeadersAreRejectedWithoutRoom) {
  BudgetShare other(budget_);
  ASSERT_TRUE(other.Add(budget_->limit() * 5 / 4, budget_->limit()));
  std::string many;
  for (int i = 0; i < 12; ++i) many += kTenHeaders;
  Http1Client client(server_->address());
  client.Send("GET /here HTTP/1.1\r\nHost: x\r\n" + many + "\r\n");
  EXPECT_THAT(client.ReadAll(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Connection: close\r\n")));
  other.Release();
  EXPECT_EQ(budget_->used(), 0);
}

// Headers that have only partly arrived are rejected if the budget is full.
TEST_F(Http1Memory, IncompleteHeadersAreRejectedWithoutRoom) {
  BudgetShare other(budget_);
  ASSERT_TRUE(other.Add(budget_->limit() * 5 / 4, budget_->limit()));
  Http1Client client(server_->address());
  client.Send(kGet);
  EXPECT_THAT(client.ReadUntil("here"), StartsWith("HTTP/1.1 200")) << "a whole request needs no room";
  client.Send("GET /here HTTP/1.1\r\nHost: x\r\nx-half: 12345678901234567890");
  EXPECT_THAT(client.ReadAll(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: 1\r\n"),
                                      HasSubstr("Connection: close\r\n"), EndsWith("retry in a moment\n")));
  client.HangUp();
  EXPECT_EQ(closed_.Await(), "done") << "the client made no mistake";
  other.Release();
  EXPECT_EQ(budget_->used(), 0);
}

TEST_F(Http1Memory, AnIncompleteChunkIsRejectedWithoutRoom) {
  Http1Client client(server_->address());
  client.Send("POST /work HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n");
  ASSERT_TRUE(Becomes([&] { return budget_->used() > 0; }));
  BudgetShare other(budget_);
  ASSERT_TRUE(other.Add(budget_->limit() * 5 / 4, budget_->limit()));
  client.Send("4;extension=1234567890123456");
  working_.get_future().get()->Send([] { return HttpResponse{.code = 429, .body = "full"}; });
  EXPECT_EQ(body_.status(), NoRoomError());
  EXPECT_TRUE(client.Send(std::string(kMuch, 'x'))) << "the rest of the body is not read";
  EXPECT_THAT(client.ReadAll(), AllOf(StartsWith("HTTP/1.1 429"), HasSubstr("Connection: close\r\n")));
}

// A request in progress is answered, but the requests behind it are not.
TEST_F(Http1Memory, RequestsSentAheadAreDroppedWithoutRoom) {
  BudgetShare other(budget_);
  ASSERT_TRUE(other.Add(budget_->limit() * 5 / 4, budget_->limit()));
  Http1Client client(server_->address());
  client.Send("POST /work HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n" + Gets(100));
  working_.get_future().get()->Send([] { return HttpResponse{.body = "done"}; });
  EXPECT_TRUE(client.Send(std::string(kMuch, 'x')));
  EXPECT_THAT(client.ReadAll(),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Connection: close\r\n"), EndsWith("done")));
}

}  // namespace
}  // namespace vitrine
