// SPDX-License-Identifier: Apache-2.0
// Tests the server's guarantees for HTTP/2 clients, and the client behaviour that it rejects.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/http/server.h"
#include "tests/common/http1_client.h"
#include "tests/common/http2_client.h"
#include "tests/common/http_closings.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using Request = std::shared_ptr<HttpRequest>;

std::unique_ptr<HttpServer> Serve(HttpServerOptions options, const HttpHandler& handler) {
  if (options.socket.empty()) options.listen = "127.0.0.1:0";
  absl::StatusOr<std::unique_ptr<HttpServer>> server = HttpServer::Start(options, handler);
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

HttpHandling PathItself(const Request& request) {
  return HttpHandling::Answer({.type = kPlainText, .body = request->path()});
}

// Events of all streams of a server.
struct Seen {
  std::atomic<size_t> bytes = 0;
  std::atomic<int> closed = 0, answered = 0, too_slow = 0;
  std::mutex mutex;
  std::vector<std::shared_ptr<HttpStream>> kept;  // open streams that a test keeps
};

// Answers a stream with `answer` when its body is complete, and counts the stream's events in `seen`.
class Answering final : public HttpStreamHandler {
 public:
  Answering(std::shared_ptr<HttpStream> stream, std::string answer, Seen& seen)
      : stream_(std::move(stream)), answer_(std::move(answer)), seen_(seen) {
    stream_->SetBodyAwaited(true);
  }
  void OnData(absl::string_view bytes) override {
    seen_.bytes += bytes.size();
    stream_->Consume(bytes.size());
  }
  void OnEnd() override {
    HttpStream::Part part = {.head = {{":status", "200"}}, .bytes = answer_, .is_last = true};
    part.trailers = {{"grpc-status", "0"}};
    stream_->Send(std::move(part));
  }
  void OnTooSlow() override {
    ++seen_.too_slow;
    stream_->Reset(NGHTTP2_CANCEL);
  }
  void OnClosed(bool is_answered) override {
    ++seen_.closed;
    seen_.answered += is_answered ? 1 : 0;
  }

 private:
  const std::shared_ptr<HttpStream> stream_;
  const std::string answer_;
  Seen& seen_;
};

HttpHandler AnswerWith(const std::string& answer, Seen& seen) {
  return [answer, &seen](const Request&) {
    return HttpHandling::Stream([answer, &seen](std::shared_ptr<HttpStream> stream) {
      return std::make_shared<Answering>(std::move(stream), answer, seen);
    });
  };
}

TEST(Http2Server, PlainRequestsAreHandledLikeOverHttp1) {
  const auto server = Serve({}, [](const Request& request) {
    if (request->method() == "GET") return PathItself(request);
    return HttpHandling::Read([](const absl::StatusOr<std::string>& body, const std::shared_ptr<HttpReply>& reply) {
      reply->Send([&] { return HttpResponse{.body = absl::StrCat(body->size()), .headers = {{"X-Case", "kept"}}}; });
    });
  });
  Http2Client client(server->address());
  EXPECT_EQ(client.Get("/a%20path?query").body, "/a path");
  const auto& answer = client.Await(client.Begin("/", std::string(3'000'000, 'x')));
  EXPECT_EQ(answer.body, "3000000");
  EXPECT_EQ(answer.headers.at("x-case"), "kept");
  EXPECT_EQ(answer.headers.at(":status"), "200");
}

TEST(Http2Server, AStreamReceivesItsBodyAndAnswersWithTrailers) {
  Seen seen;
  const auto server = Serve({}, AnswerWith("answer", seen));
  Http2Client client(server->address());
  const auto& answer = client.Await(client.Begin("/", std::string(5'000'000, 'x')));
  EXPECT_EQ(answer.body, "answer");
  EXPECT_EQ(answer.headers.at("grpc-status"), "0");
  EXPECT_EQ(seen.bytes, 5'000'000u);
  EXPECT_FALSE(answer.reset.has_value());
}

TEST(Http2Server, LargeAnswersDoNotBlockOthers) {
  Seen seen;
  const auto server = Serve({}, [&](const Request& request) {
    return AnswerWith(std::string(request->path() == "/large" ? 4'000'000 : 10, 'x'), seen)(request);
  });
  Http2Client client(server->address(), "", 16 << 20);
  const int32_t large = client.Begin("/large");
  client.Until([&] { return client.responses[large].body.size() > 100'000; });
  const auto& small = client.Await(client.Begin("/small"));
  EXPECT_EQ(small.body.size(), 10u);
  EXPECT_EQ(client.Await(large).body.size(), 4'000'000u);

  Http2Client other(server->address(), "", 16 << 20);
  const int32_t one = other.Begin("/large"), two = other.Begin("/large");
  other.Await(one);
  other.Await(two);
  const auto& order = other.data_order;
  const auto first_of_two = std::find(order.begin(), order.end(), two);
  const auto last_of_one = std::find(order.rbegin(), order.rend(), one).base();
  EXPECT_LT(first_of_two, last_of_one);  // the frames of both responses alternate
}

TEST(Http2Server, AnAnswerBeforeTheBodyResetsTheStream) {
  const auto server = Serve({}, [](const Request&) { return HttpHandling::Answer({.code = 403, .body = "no"}); });
  Http2Client client(server->address());
  const int32_t id = client.Begin("/", std::string(8'000'000, 'x'), true, {{"content-type", "application/grpc"}});
  client.Until([&] { return client.responses[id].reset.has_value(); });
  EXPECT_EQ(client.responses[id].headers[":status"], "403");
  EXPECT_EQ(client.responses[id].body, "no");
  EXPECT_EQ(client.responses[id].reset, NGHTTP2_NO_ERROR);
  // The last request succeeds only if the server has returned the connection's flow-control window for the unread
  // bodies.
  for (int i = 0; i < 40; ++i) client.Await(client.Begin("/", std::string(1'000'000, 'x')));
  EXPECT_EQ(client.Get("/").headers.at(":status"), "403");
}

TEST(Http2Server, StreamsWithUnfinishedWorkAreLimitedToTwiceTheConcurrentOnes) {
  Seen seen;
  const auto server = Serve({.listen = "", .max_concurrent_streams = 2}, [&](const Request& request) {
    return HttpHandling::Stream([&, path = request->path()](std::shared_ptr<HttpStream> stream) {
      if (path == "/kept") {
        std::lock_guard<std::mutex> lock(seen.mutex);
        seen.kept.push_back(stream);
      }
      return std::make_shared<Answering>(std::move(stream), "answer", seen);
    });
  });
  Http2Client client(server->address());
  for (int i = 0; i < 4; ++i) {
    const int32_t id = client.Begin("/kept", "", false);
    client.Reset(id);
  }
  client.Ping();
  client.Until([&] { return client.ping_answers == 1; });
  EXPECT_EQ(seen.closed, 4);
  const int32_t refused = client.Begin("/more");
  client.Until([&] { return client.responses[refused].is_closed; });
  EXPECT_EQ(client.responses[refused].reset, NGHTTP2_REFUSED_STREAM);
  {
    std::lock_guard<std::mutex> lock(seen.mutex);
    seen.kept.clear();
  }
  EXPECT_EQ(client.Get("/more").body, "answer");
}

TEST(Http2Server, AShutdownSendsTwoGoawaysAndTheLastNamesTheLastStream) {
  Closings closings;
  Seen seen;
  const auto server = Serve({.listen = "", .observer = &closings}, AnswerWith("answer", seen));
  Http2Client client(server->address());
  client.Get("/one");
  const int32_t open = client.Begin("/two", "", false);
  server->StartLeaving();
  client.Until([&] { return client.goaways.size() == 2; });
  ASSERT_EQ(client.goaways.size(), 2u);
  EXPECT_EQ(client.goaways[0].last_stream, static_cast<int32_t>((1u << 31) - 1));
  EXPECT_EQ(client.goaways[1].last_stream, open);
  EXPECT_EQ(client.goaways[1].code, NGHTTP2_NO_ERROR);
  EXPECT_EQ(client.goaways[1].why, "shutdown");
  client.Reset(open);  // ends the last open request
  EXPECT_TRUE(client.AwaitEnd());
  EXPECT_TRUE(closings.Await("shutdown"));
  // A client that connects during the shutdown delay must be served, and then get a GOAWAY too.
  Http2Client late(server->address());
  EXPECT_EQ(late.Get("/three").body, "answer");
  EXPECT_TRUE(late.AwaitEnd());
}

TEST(Http2Server, AShutdownSendsGoawayToAnUnusedConnection) {
  const auto server = Serve({}, PathItself);
  Http2Client client(server->address());
  client.Ping();
  ASSERT_TRUE(client.Until([&] { return client.ping_answers == 1; }));
  server->StartLeaving();
  EXPECT_TRUE(client.AwaitEnd());
  ASSERT_FALSE(client.goaways.empty());
  EXPECT_EQ(client.goaways[0].last_stream, static_cast<int32_t>((1u << 31) - 1));
}

// Sends the answer to a PING and a request in one TCP segment. The answer triggers the last GOAWAY, and the server
// reads the request before it sends this GOAWAY.
TEST(Http2Server, ARequestAfterTheLastGoawayIsNotServed) {
  Seen seen;
  std::atomic<int> begun = 0;
  const auto server = Serve({}, [&](const Request& request) {
    ++begun;
    return AnswerWith("answer", seen)(request);
  });
  Http2Client client(server->address());
  client.Get("/one");
  const int32_t open = client.Begin("/two", "", false);
  client.holds_answers = true;
  server->StartLeaving();
  ASSERT_TRUE(client.Until([&] { return client.goaways.size() == 1 && client.pings == 1; }));
  const std::string answer("\x00\x00\x08\x06\x01\x00\x00\x00\x00vit-left", 17);
  const std::string request("\x00\x00\x06\x01\x05\x00\x00\x00\x05\x82\x86\x84\x41\x01x", 15);
  client.SendRaw(answer + request);
  ASSERT_TRUE(client.Until([&] { return client.goaways.size() == 2; }));
  EXPECT_EQ(client.goaways[1].last_stream, open);
  EXPECT_EQ(begun, 2) << "the third request must not be handled, because the client will send it again";
}

TEST(Http2Server, OldAndIdleConnectionsGetAGoaway) {
  Closings closings;
  const auto server = Serve({.listen = "", .max_age = absl::Milliseconds(300), .observer = &closings}, PathItself);
  Http2Client old(server->address());
  old.Get("/");
  EXPECT_TRUE(old.AwaitEnd());
  ASSERT_FALSE(old.goaways.empty());
  EXPECT_EQ(old.goaways.back().why, "age");
  const auto other = Serve({.listen = "", .idle_timeout = absl::Milliseconds(200), .observer = &closings}, PathItself);
  Http2Client idle(other->address());
  idle.Get("/");
  EXPECT_TRUE(idle.AwaitEnd());
  EXPECT_EQ(idle.goaways.back().why, "idle");
  EXPECT_TRUE(closings.Await("age"));
  EXPECT_TRUE(closings.Await("idle"));
}

TEST(Http2Server, FrequentPingsEndOnlyConnectionsWithoutRequests) {
  Closings closings;
  const auto server = Serve({.listen = "", .observer = &closings}, PathItself);
  Http2Client busy(server->address());
  for (int i = 0; i < 10; ++i) {
    busy.Get("/");
    busy.Ping();
    busy.Until([&] { return busy.ping_answers == i + 1; });
  }
  EXPECT_EQ(busy.ping_answers, 10);
  Http2Client idle(server->address());
  for (int i = 0; i < 5; ++i) idle.Ping();
  EXPECT_TRUE(idle.AwaitEnd());
  ASSERT_EQ(idle.goaways.size(), 1u);
  EXPECT_EQ(idle.goaways[0].code, NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_EQ(idle.goaways[0].why, "too_many_pings");
  EXPECT_TRUE(closings.Await("too_many_pings"));
}

TEST(Http2Server, APingMayComeUpToTenPercentEarly) {
  const auto server = Serve({.listen = "", .min_ping_interval = absl::Milliseconds(100)}, PathItself);
  Http2Client client(server->address());
  for (int i = 0; i < 8; ++i) {
    client.Ping();
    client.Until([&] { return client.ping_answers == i + 1; });
    std::this_thread::sleep_for(std::chrono::milliseconds(92));
  }
  EXPECT_EQ(client.ping_answers, 8);
}

TEST(Http2Server, ASilentConnectionIsPingedAndClosedWithoutAnAnswer) {
  Closings closings;
  const auto server = Serve({.listen = "",
                             .keepalive_time = absl::Milliseconds(200),
                             .keepalive_timeout = absl::Milliseconds(300),
                             .observer = &closings},
                            PathItself);
  Http2Client answering(server->address());
  EXPECT_TRUE(answering.Until([&] { return answering.pings >= 3; }));
  Http2Client silent(server->address());
  silent.Get("/");
  EXPECT_TRUE(closings.Await("keepalive"));
}

TEST(Http2Server, TooManyResetsCloseTheConnection) {
  Closings closings;
  Seen seen;
  HttpServerOptions options = {.listen = "", .observer = &closings};
  options.abuse.connection_burst = 1000;
  options.abuse.connection_rate = 1;
  const auto server = Serve(options, AnswerWith("answer", seen));
  Http2Client client(server->address());
  for (int i = 0; i < 400; ++i) client.Reset(client.Begin("/", "", false));
  EXPECT_EQ(client.Get("/").body, "answer");
  for (int i = 0; i < 600 && !client.is_gone; ++i) client.Reset(client.Begin("/", "", false));
  EXPECT_TRUE(client.AwaitEnd());
  EXPECT_TRUE(closings.Await("abuse"));
}

TEST(Http2Server, TooLargeHeadersAreRefusedAsTheProtocolRequires) {
  const auto server = Serve({.listen = "", .max_head_bytes = 4096}, PathItself);
  Http2Client client(server->address());
  const std::pair<std::string, std::string> large = {"x-large", std::string(5000, 'x')};
  EXPECT_EQ(client.Await(client.Begin("/", "", true, {large})).headers.at(":status"), "431");
  const auto& grpc = client.Await(client.Begin("/", "", false, {large, {"content-type", "application/grpc"}}));
  EXPECT_EQ(grpc.headers.at(":status"), "200");
  EXPECT_EQ(grpc.headers.at("grpc-status"), "8");
  EXPECT_EQ(client.Get("/").headers.at(":status"),
            "200");  // succeeds only if the HPACK tables of client and server agree
}

TEST(Http2Server, ASlowBodyAndAnUnreadAnswerAreGivenUp) {
  Closings closings;
  Seen seen;
  const auto server = Serve({.listen = "", .body_timeout = absl::Milliseconds(300), .observer = &closings},
                            AnswerWith(std::string(1'000'000, 'x'), seen));
  Http2Client client(server->address(), "", 0);
  const int32_t dripping = client.Begin("/", "x", false);
  client.Until([&] { return client.responses[dripping].is_closed; });
  EXPECT_EQ(seen.too_slow, 1);
  EXPECT_TRUE(closings.Await("slow_body"));
  const int32_t unread = client.Begin("/");
  client.Until([&] { return client.responses[unread].is_closed; });
  EXPECT_EQ(client.responses[unread].reset, NGHTTP2_CANCEL);
  EXPECT_TRUE(closings.Await("unread"));
  EXPECT_EQ(seen.answered, 0);
}

TEST(Http2Server, AClientThatSendsItsHeadersTooSlowlyGetsAGoaway) {
  Closings closings;
  const auto server =
      Serve({.listen = "", .request_timeout = absl::Milliseconds(300), .observer = &closings}, PathItself);
  Http2Client client(server->address());
  client.Get("/");
  client.SendRaw(std::string("\0\0\1\1\0\0\0\0\3\x82", 10));  // HEADERS without END_HEADERS
  EXPECT_TRUE(client.AwaitEnd());
  ASSERT_EQ(client.goaways.size(), 1u);
  EXPECT_EQ(client.goaways[0].why, "the headers did not arrive in time");
  EXPECT_TRUE(closings.Await("head_timeout"));

  Http1Client unsettled(server->address());
  ASSERT_TRUE(unsettled.Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
  EXPECT_THAT(unsettled.ReadAll(), HasSubstr("no SETTINGS arrived in time"));
}

TEST(Http2Server, ATrustedProxyHeaderGivesTheClientAddress) {
  const auto handler = [](const Request& request) { return HttpHandling::Answer({.body = request->peer->address}); };
  const auto server = Serve({.listen = "", .trusted_proxies = {"127.0.0.0/8"}}, handler);
  const std::string header("\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x0a\x01\x02\x03\x7f\0\0\x01\x12\x34\x1f\x90", 28);
  EXPECT_EQ(Http2Client(server->address(), header).Get("/").body, "ipv4:10.1.2.3:4660");
  EXPECT_THAT(Http2Client(server->address()).Get("/").body, HasSubstr("ipv4:127.0.0.1:"));
  const auto distrusting = Serve({}, handler);
  Http2Client liar(distrusting->address(), header);
  EXPECT_TRUE(liar.AwaitEnd());
}

TEST(Http2Server, ATruncatedProxyHeaderClosesTheConnectionAtOnce) {
  Closings closings;
  const auto server = Serve({.listen = "", .trusted_proxies = {"127.0.0.0/8"}, .observer = &closings}, PathItself);
  // Sends a PROXY header that announces 2 KiB, and disconnects without sending these bytes.
  Http2Client client(server->address(), std::string("\r\n\r\n\0\r\nQUIT\n\x21\x11\x08\0", 16));
  client.Break();
  EXPECT_TRUE(closings.Await("client"));
}

TEST(Http2Server, AUnixSocketReportsTheUserOfTheClient) {
  const ScratchFolder folder;
  const auto server =
      Serve({.listen = "", .socket = absl::StrCat("unix://", folder.path().string(), "/s")},
            [](const Request& request) { return HttpHandling::Answer({.body = absl::StrCat(*request->peer->uid)}); });
  EXPECT_EQ(server->address(), "");
  EXPECT_EQ(Http2Client(server->socket_address()).Get("/").body, absl::StrCat(getuid()));
}

TEST(Http2Server, ANewConnectionAboveTheRateOfItsAddressIsClosed) {
  Closings closings;
  HttpServerOptions options = {.listen = "", .observer = &closings};
  options.abuse.connect_burst = 5;
  options.abuse.connect_rate = 0.1;
  const auto server = Serve(options, PathItself);
  Http2Client first(server->address());
  for (int i = 0; i < 10; ++i) Http2Client(server->address()).Get("/");
  EXPECT_EQ(first.Get("/still").body, "/still");
  EXPECT_TRUE(closings.Await("connect_rate"));
}

}  // namespace
}  // namespace vitrine
