// SPDX-License-Identifier: Apache-2.0
// Tests the limits of a connection (time, slots, bytes), and the handling of waiting connections.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/http/server.h"
#include "tests/common/http1_client.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Head = std::shared_ptr<HttpRequest>;

constexpr char kRequest[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

using Client = Http1Client;

std::unique_ptr<HttpServer> Serve(const HttpServerOptions& options, const HttpHandler& handler) {
  HttpServerOptions local = options;
  local.listen = "127.0.0.1:0";
  absl::StatusOr<std::unique_ptr<HttpServer>> server = HttpServer::Start(local, handler);
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

HttpHandling PathItself(const Head& request) {
  return HttpHandling::Make([request] { return HttpResponse{.type = kPlainText, .body = request->path()}; });
}

HttpHandling BodyItself(const Head&) {
  return HttpHandling::Read([](const absl::StatusOr<std::string>& body, const std::shared_ptr<HttpReply>& reply) {
    reply->Send([&] { return HttpResponse{.body = body.ok() ? *body : body.status().ToString()}; });
  });
}

TEST(HttpServer, PipelinedRequestsAreAnsweredInOrder) {
  const auto server = Serve({}, PathItself);
  Client client(server->address());
  std::string ahead;
  for (int i = 0; i < 50; ++i) ahead += absl::StrCat("GET /", i, " HTTP/1.1\r\nHost: x\r\n\r\n");
  client.Send(ahead + "GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answers = client.ReadAll();
  size_t at = 0;
  for (int i = 0; i < 50; ++i) {
    at = answers.find(absl::StrCat("\r\n\r\n/", i, "HTTP/1.1 200 OK\r\n"), at);
    ASSERT_NE(at, std::string::npos) << i << answers;
  }
  EXPECT_THAT(answers, EndsWith("\r\n\r\n/last"));
}

TEST(HttpServer, AnAnswerToHeadHasTheLengthButNoBody) {
  const auto server = Serve({}, PathItself);
  Client client(server->address());
  client.Send("HEAD /path HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.ReadAll(), AllOf(HasSubstr("Content-Length: 5\r\n"), EndsWith("\r\n\r\n")));
}

TEST(HttpServer, AChunkedBodyIsReadUpToTheLimit) {
  const auto server = Serve({.listen = "", .max_body_bytes = 12}, BodyItself);
  const auto post = [&](const std::string& chunks) {
    Client client(server->address());
    client.Send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + chunks);
    return client.ReadAll();
  };
  EXPECT_THAT(post("5\r\nhello\r\n1;a=b\r\n \r\n5\r\nworld\r\n0\r\nTrailer: x\r\n\r\n"),
              EndsWith("\r\n\r\nhello world"));
  EXPECT_THAT(post("0\r\n\r\n"), AllOf(StartsWith("HTTP/1.1 200"), EndsWith("\r\n\r\n")));
  EXPECT_THAT(post("c\r\nhello world!\r\n1\r\nx"), HasSubstr("RESOURCE_EXHAUSTED"));
  EXPECT_THAT(post("zz\r\n"), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(post("1;" + std::string(200'000, 'x')), HasSubstr("INVALID_ARGUMENT"));
}

// Many clients, such as Python's, read the response only after they have sent the whole body.
TEST(HttpServer, AnUnreadBodyIsReceivedAndDiscarded) {
  const std::string body(20 << 20, 'x');
  const std::string head = absl::StrCat("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ", body.size(), "\r\n\r\n");
  const auto server = Serve({.listen = "", .max_body_bytes = 16 << 20}, BodyItself);
  Client client(server->address());
  EXPECT_TRUE(client.Send(head + body));
  EXPECT_THAT(client.ReadAll(), HasSubstr("RESOURCE_EXHAUSTED"));
}

// The headers arrive byte by byte with short pauses.
TEST(HttpServer, SlowHeadersAreGivenUp) {
  const auto server = Serve({.listen = "", .request_timeout = absl::Milliseconds(400)}, PathItself);
  for (const bool is_second : {false, true}) {
    Client client(server->address());
    if (is_second) {  // the second request of a keep-alive connection
      client.Send(kRequest);
      EXPECT_THAT(client.ReadUntil("\r\n\r\n/"), StartsWith("HTTP/1.1 200"));
    }
    const auto begin = std::chrono::steady_clock::now();
    while (client.Send("G") && std::chrono::steady_clock::now() - begin < std::chrono::seconds(10)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
  }
}

TEST(HttpServer, ASlowBodyIsGivenUp) {
  LastClose close;
  const auto server = Serve({.listen = "", .body_timeout = absl::Milliseconds(300), .observer = &close}, BodyItself);
  Client client(server->address());
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
  std::future<std::string> answer = std::async(std::launch::async, [&] { return client.ReadUntil("arrive"); });
  while (answer.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) client.Send("x");
  EXPECT_THAT(answer.get(), AllOf(HasSubstr("DEADLINE_EXCEEDED"), HasSubstr("Connection: close")));
  EXPECT_EQ(close.Await(), "slow_client");
}

TEST(HttpServer, AClientThatReadsNothingIsDisconnected) {
  // Every sent byte extends the timeout, and bytes in the buffers of the sockets count as sent. With this minimum rate,
  // the bytes in the buffers extend the timeout by less than a second.
  constexpr int64_t kRate = int64_t{1} << 30;
  LastClose close;
  const auto server =
      Serve({.listen = "", .body_timeout = absl::Milliseconds(300), .least_rate = kRate, .observer = &close},
            [](const Head&) { return HttpHandling::Answer({.body = std::string(64 << 20, 'x')}); });
  Client client(server->address());
  client.Send(kRequest);
  const auto begin = std::chrono::steady_clock::now();
  while (client.Send("G") && std::chrono::steady_clock::now() - begin < std::chrono::seconds(10)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
  EXPECT_EQ(close.Await(), "slow_client");
}

TEST(HttpServer, AClientThatExpects100ContinueGetsIt) {
  const auto server = Serve({}, BodyItself);
  Client client(server->address());
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(client.Read(), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("ok");
  EXPECT_THAT(client.ReadAll(), EndsWith("\r\n\r\nok"));
}

// There are far more requests than threads, and they are answered in reverse order.
TEST(HttpServer, PendingAnswersOccupyNoThread) {
  std::vector<std::shared_ptr<HttpReply>> awaited;
  std::atomic<int> asked = 0;
  const auto server = Serve({.listen = "", .threads = 2}, [&](const Head&) {
    return HttpHandling::Read([&](const absl::StatusOr<std::string>&, std::shared_ptr<HttpReply> reply) {
      awaited.push_back(std::move(reply));
      ++asked;
    });
  });
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<Client>(server->address()));
    clients.back()->Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx");
    while (asked <= i) std::this_thread::yield();
  }
  for (int i = 99; i >= 0; --i) {
    awaited[i]->Send([&] { return HttpResponse{.body = absl::StrCat("answer ", i)}; });
    EXPECT_THAT(clients[i]->ReadAll(), EndsWith(absl::StrCat("\r\n\r\nanswer ", i)));
  }
}

TEST(HttpServer, TheHandlerSeesThatTheClientHasDisconnected) {
  std::promise<Head> asked;
  std::shared_ptr<HttpReply> kept;
  const auto server = Serve({}, [&](const Head& request) {
    return HttpHandling::Read([&, request](const absl::StatusOr<std::string>&, std::shared_ptr<HttpReply> reply) {
      kept = std::move(reply);
      asked.set_value(request);
    });
  });
  Client client(server->address());
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx");
  const Head request = asked.get_future().get();
  EXPECT_FALSE(request->hung_up->load());
  client.Send(kRequest);  // bytes of the next request do not count as a disconnect
  client.HangUp();
  while (!request->hung_up->load()) std::this_thread::yield();
  kept->Send([] { return HttpResponse(); });  // must be harmless after the disconnect
}

TEST(HttpServer, ADroppedReplyIsAnsweredWithAnError) {
  const auto server = Serve({}, [](const Head&) {
    return HttpHandling::Read([](const absl::StatusOr<std::string>&, const std::shared_ptr<HttpReply>&) {});
  });
  Client client(server->address());
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx");
  EXPECT_THAT(client.ReadAll(), StartsWith("HTTP/1.1 503 "));
}

class ConnectionSlots : public ::testing::Test {
 protected:
  const std::unique_ptr<HttpServer> server_ =
      Serve({.listen = "", .max_connections = 3}, [](const Head& request) -> HttpHandling {
        if (request->method() == "POST") return BodyItself(request);
        return HttpHandling::Answer({.body = "here"});
      });
  const std::string address_ = server_->address();
};

TEST_F(ConnectionSlots, TheLongestIdleConnectionIsClosedForANewOne) {
  Client first(address_), second(address_), third(address_);
  for (Client* client : {&first, &second, &third}) {
    client->Send(kRequest);
    EXPECT_THAT(client->ReadUntil("here"), EndsWith("here"));
  }
  // The idle connections have not reached their keep-alive timeout, but they are closed, because new connections need
  // their slots.
  Client fourth(address_), fifth(address_);
  EXPECT_EQ(first.Read(), "");
  EXPECT_EQ(second.Read(), "");
  for (Client* client : {&third, &fourth, &fifth}) {
    client->Send(kRequest);
    EXPECT_THAT(client->ReadUntil("here"), EndsWith("here"));
  }
}

TEST_F(ConnectionSlots, AConnectionWithoutItsBodyIsClosedAfterTheIdleOnes) {
  const std::string begun = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n";
  Client first(address_), second(address_), idle(address_);
  for (Client* client : {&first, &second}) {
    client->Send(begun);
    EXPECT_THAT(client->Read(), StartsWith("HTTP/1.1 100"));
  }
  Client fourth(address_);
  EXPECT_EQ(idle.Read(), "");
  fourth.Send(begun);
  EXPECT_THAT(fourth.Read(), StartsWith("HTTP/1.1 100"));
  Client fifth(address_);
  EXPECT_EQ(first.Read(), "");
  second.Send("nine more");
  EXPECT_THAT(second.ReadUntil("nine more"), EndsWith("nine more"));
}

// The shutdown begins during the response's body. The headers have already announced that the connection stays open.
TEST(HttpServerShutdown, ClosesAConnectionAfterTheResponseThatItSends) {
  const auto server =
      Serve({}, [](const Head&) { return HttpHandling::Answer({.body = std::string(20'000'000, 'x')}); });
  Client client(server->address());
  client.Send(kRequest);
  client.Read();
  std::thread ends([&] { server->Shutdown(absl::Seconds(60)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_GT(client.ReadAll().size(), size_t{19'900'000});
  const auto read = std::chrono::steady_clock::now();
  ends.join();
  EXPECT_LT(std::chrono::steady_clock::now() - read, std::chrono::seconds(10));
}

// Sends a response while the server is destroyed.
TEST(HttpServerShutdown, SendsAnAnswerThatWasJustMade) {
  for (int cycle = 0; cycle < 50; ++cycle) {
    std::promise<std::shared_ptr<HttpReply>> asked;
    auto server = Serve({}, [&](const Head&) {
      return HttpHandling::Read([&](const absl::StatusOr<std::string>&, std::shared_ptr<HttpReply> reply) {
        asked.set_value(std::move(reply));
      });
    });
    Client client(server->address());
    client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx");
    std::shared_ptr<HttpReply> reply = asked.get_future().get();
    std::thread answers([&] {
      reply->Send([] { return HttpResponse{.body = "in time"}; });
      reply = nullptr;
    });
    server.reset();
    answers.join();
    EXPECT_THAT(client.ReadAll(), EndsWith("in time"));
  }
}

}  // namespace
}  // namespace vitrine
