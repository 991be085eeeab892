// SPDX-License-Identifier: Apache-2.0
// Tests which frames of HTTP/2 cost points (see HttpAbuseLimits), and which cost none.
#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/http/server.h"
#include "tests/common/http2_client.h"
#include "tests/common/http_closings.h"
#include "tests/common/silent_stream.h"
#include "tests/scratch_folder.h"
#include "tests/server/identity/authority.h"

namespace vitrine {
namespace {

constexpr int kBurst = 100;

// A server whose connections have kBurst points and gain none. It never answers /open, answers /refused with 403 before
// the body, and answers other paths with the path.
class PointsServer {
 public:
  explicit PointsServer(HttpServerOptions options = {}) {
    options.abuse.connection_burst = kBurst;
    options.abuse.connection_rate = 0;
    options.min_ping_interval = absl::ZeroDuration();
    options.observer = &closings;
    if (options.socket.empty()) options.listen = "127.0.0.1:0";
    server = *HttpServer::Start(options, [](const std::shared_ptr<HttpRequest>& request) {
      if (request->path() == "/refused") return HttpHandling::Answer({.code = 403, .body = "no"});
      if (request->path() != "/open") return HttpHandling::Answer({.body = request->path()});
      return HttpHandling::Stream(
          [](std::shared_ptr<HttpStream> stream) { return std::make_shared<SilentStream>(std::move(stream)); });
    });
  }

  Closings closings;
  std::unique_ptr<HttpServer> server;
};

// A client with two streams: stream 1 is closed, stream 3 stays open.
std::unique_ptr<Http2Client> Connect(const std::string& address) {
  auto client = std::make_unique<Http2Client>(address);
  EXPECT_EQ(client->Get("/done").body, "/done");
  EXPECT_EQ(client->Begin("/open", "", false), 3);
  return client;
}
constexpr int32_t kClosed = 1, kOpen = 3;

// Returns a frame; the length of `payload` must be below 256.
std::string Frame(int type, int32_t stream, const std::string& payload = "", int flags = 0) {
  std::string frame(9, '\0');
  frame[2] = static_cast<char>(payload.size());
  frame[3] = static_cast<char>(type);
  frame[4] = static_cast<char>(flags);
  frame[8] = static_cast<char>(stream);
  return frame + payload;
}

// A WINDOW_UPDATE that exceeds the largest window, so that the server must reset the stream.
std::string Overflow(int32_t stream) {
  return Frame(NGHTTP2_WINDOW_UPDATE, stream, "\x7f\xff\xff\xff");
}

struct Kind {
  std::string name;
  double points;  // cost of one frame
  std::function<void(Http2Client&)> send;
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

std::vector<Kind> Kinds() {
  constexpr int kAltSvc = 10, kOrigin = 12, kPriorityUpdate = 16, kUnknown = 254;
  const std::string number("\0\0\0\1", 4), padding = '\x63' + std::string(99, '\0');
  const auto raw = [](const std::string& frame) { return [frame](Http2Client& client) { client.SendRaw(frame); }; };
  const auto provoked = [](Http2Client& client) { client.SendRaw(Overflow(client.Begin("/open", "", false))); };
  return {
      {"Ping", 1, raw(Frame(NGHTTP2_PING, 0, "12345678"))},
      {"Settings", 1, [](Http2Client& client) { client.Settings(); }},
      {"Priority", 1, raw(Frame(NGHTTP2_PRIORITY, kOpen, number + "x"))},
      {"WindowUpdate", 1.0 / 8, raw(Frame(NGHTTP2_WINDOW_UPDATE, 0, number))},
      {"WindowUpdateOfAClosedStream", 1.0 / 8, raw(Frame(NGHTTP2_WINDOW_UPDATE, kClosed, number))},
      {"EmptyData", 1, raw(Frame(NGHTTP2_DATA, kOpen))},
      {"DataOfPadding", 1, raw(Frame(NGHTTP2_DATA, kOpen, padding, NGHTTP2_FLAG_PADDED))},
      {"SmallData", 1.0 / 32, raw(Frame(NGHTTP2_DATA, kOpen, "x"))},
      {"EmptyDataOfAClosedStream", 1, raw(Frame(NGHTTP2_DATA, kClosed))},
      {"SmallDataOfAClosedStream", 1.0 / 32, raw(Frame(NGHTTP2_DATA, kClosed, "x"))},
      {"HeadersOfAClosedStream", 4, raw(Frame(NGHTTP2_HEADERS, kClosed, "", NGHTTP2_FLAG_END_HEADERS))},
      {"ResetOfAClosedStream", 1, raw(Frame(NGHTTP2_RST_STREAM, kClosed, number))},
      {"AltSvc", 1, raw(Frame(kAltSvc, 0))},
      {"Origin", 1, raw(Frame(kOrigin, 0))},
      {"PriorityUpdate", 1, raw(Frame(kPriorityUpdate, 0, number + "u=3"))},
      {"Unknown", 1, raw(Frame(kUnknown, kOpen, "unknown"))},
      {"ProvokedReset", 1.5, provoked},
  };
}

class FrameCost : public ::testing::TestWithParam<Kind> {
 protected:
  void Send(Http2Client& client, double points) {
    for (double sent = 0; sent < points; sent += GetParam().points) GetParam().send(client);
  }
};

TEST_P(FrameCost, FewFramesAreToleratedAndManyCloseTheConnection) {
  PointsServer points;
  const auto tolerated = Connect(points.server->address());
  Send(*tolerated, 0.5 * kBurst);
  EXPECT_EQ(tolerated->Get("/after").body, "/after");
  const auto abusive = Connect(points.server->address());
  Send(*abusive, 1.5 * kBurst);
  EXPECT_TRUE(abusive->Until([&] { return !abusive->goaways.empty(); }));
  abusive->Break();  // otherwise the server would wait a second for the client to disconnect
  EXPECT_TRUE(points.closings.Await("abuse"));
  EXPECT_EQ(tolerated->Get("/still").body, "/still");
}

INSTANTIATE_TEST_SUITE_P(Kinds, FrameCost, ::testing::ValuesIn(Kinds()),
                         [](const auto& info) { return info.param.name; });

// A client may exceed the limit of streams while it has not acknowledged the SETTINGS that announce the limit.
TEST(Http2Abuse, RequestsBeyondTheLimitOfStreamsCostPoints) {
  PointsServer points({.listen = "", .max_concurrent_streams = 2});
  const auto begin = [](Http2Client& client, int requests) {
    client.holds_answers = true;
    for (int i = 0; i < requests; ++i) client.Begin("/open", "", false);
  };
  Http2Client tolerated(points.server->address()), abusive(points.server->address());
  begin(tolerated, 12);
  tolerated.Ping();
  EXPECT_TRUE(tolerated.Until([&] { return tolerated.ping_answers == 1; }));
  begin(abusive, 42);
  EXPECT_TRUE(abusive.AwaitEnd());
  EXPECT_TRUE(points.closings.Await("abuse"));
}

TEST(Http2Abuse, RequestsAfterTheLastGoawayCostPoints) {
  PointsServer points;
  const auto client = Connect(points.server->address());
  points.server->StartLeaving();
  ASSERT_TRUE(client->Until([&] { return client->goaways.size() == 2; }));
  const auto begin = [&](int32_t stream) {
    client->SendRaw(Frame(NGHTTP2_HEADERS, stream, "\x82\x86\x84\x41\x01x", NGHTTP2_FLAG_END_HEADERS));
  };
  for (int32_t stream = 5; stream < 25; stream += 2) begin(stream);
  client->Ping();
  EXPECT_TRUE(client->Until([&] { return client->ping_answers == 1; }));
  for (int32_t stream = 25; stream < 105; stream += 2) begin(stream);
  EXPECT_TRUE(client->AwaitEnd());
  EXPECT_TRUE(points.closings.Await("abuse"));
}

// The client sends each body before it can know that the request is refused.
TEST(Http2Abuse, BodiesOfRefusedRequestsCostNoPoints) {
  PointsServer points;
  Http2Client client(points.server->address());
  for (int i = 0; i < 16; ++i) {
    const auto& answer = client.Await(
        client.Begin("/refused", std::string(1'000'000, 'x'), true, {{"content-type", "application/grpc"}}));
    ASSERT_EQ(answer.body, "no") << i;
  }
}

TEST(Http2Abuse, TlsHandshakesOfAnAddressAreLimited) {
  const testing::Authority authority;
  authority.Issue("server", "DNS:x", "serverAuth");
  const auto pem = std::make_shared<TlsPem>(
      TlsPem{.certificate = authority.Read("server.pem"), .key = authority.Read("server.key")});
  HttpServerOptions options = {.listen = "", .tls = [pem] { return pem; }};
  options.abuse.handshake_burst = 3;
  options.abuse.handshake_rate = 0;
  PointsServer points(options);
  std::vector<std::unique_ptr<Http2Client>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(std::make_unique<Http2Client>(points.server->address(), "\x16"));
  EXPECT_TRUE(clients[3]->AwaitEnd());
  EXPECT_TRUE(points.closings.Await("handshake_rate"));
}

TEST(Http2Abuse, ClientsOfAUnixSocketHaveNoLimit) {
  const ScratchFolder folder;
  PointsServer points({.listen = "", .socket = absl::StrCat("unix://", folder.path().string(), "/s")});
  const auto client = Connect(points.server->socket_address());
  for (int i = 0; i < 3 * kBurst; ++i) client->SendRaw(Frame(NGHTTP2_PRIORITY, kOpen, std::string("\0\0\0\1x", 5)));
  EXPECT_EQ(client->Get("/after").body, "/after");
}

}  // namespace
}  // namespace vitrine
