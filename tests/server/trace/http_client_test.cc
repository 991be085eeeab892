// SPDX-License-Identifier: Apache-2.0
// Tests the HTTP client without TLS. tests/e2e/python/tracing_test.py tests its TLS against Python's ssl module.
#include "server/trace/http_client.h"

#include <gmock/gmock.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/trace/scripted_server.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScriptedServer;

constexpr absl::Duration kLong = absl::Seconds(60);
constexpr char kOk[] = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

HttpClient ClientOf(const ScriptedServer& server) {
  return HttpClient(*ParseHttpUrl(server.url() + "/path"));
}

TEST(HttpClient, SendsARequestAndReadsTheAnswer) {
  ScriptedServer server(
      {{"HTTP/1.1 503 Busy\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 7\r\n"
        "Content-Length: 4\r\n\r\nbusy"}});
  HttpClient client(*ParseHttpUrl(server.url() + "/path?x=1"));
  const auto response = client.Send("POST", {{"x-a", "b"}}, "body", kLong);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->code, 503);
  EXPECT_EQ(response->type, "text/plain");
  EXPECT_EQ(response->retry_after, "7");
  EXPECT_EQ(response->body, "busy");
  EXPECT_THAT(server.requests(), ElementsAre(absl::StrCat("POST /path?x=1 HTTP/1.1\r\nhost: 127.0.0.1:", server.port(),
                                                          "\r\nx-a: b\r\ncontent-length: 4\r\n\r\nbody")));
}

TEST(HttpClient, ReadsBodiesOfEveryTransferEncoding) {
  const std::vector<std::string> answers = {
      kOk, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\no\r\n1;x=y\r\nk\r\n0\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: "
      "2\r\n\r\nok",
      "HTTP/1.0 200 OK\r\n\r\nok",  // the body ends with the connection
  };
  for (const auto pace : {ScriptedServer::Pace::kAtOnce, ScriptedServer::Pace::kByteByByte}) {
    for (const std::string& answer : answers) {
      ScriptedServer server({{answer}}, pace);
      const auto response = ClientOf(server).Send("GET", {}, "", kLong);
      ASSERT_TRUE(response.ok()) << answer << response.status();
      EXPECT_EQ(response->body, "ok") << answer;
    }
  }
}

TEST(HttpClient, ReusesItsConnectionUntilTheServerCloses) {
  ScriptedServer server({{kOk, kOk}, {"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"}, {kOk}});
  HttpClient client = ClientOf(server);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(client.Send("GET", {}, "", kLong).ok()) << i;
  server.AwaitClosed(1);  // otherwise the next request could fail, because the connection closes during it
  for (int i = 2; i < 4; ++i) EXPECT_TRUE(client.Send("GET", {}, "", kLong).ok()) << i;
  EXPECT_EQ(server.requests().size(), 4U);
}

TEST(HttpClient, ErrorsGiveTheReasonForAMissingAnswer) {
  const std::string large =
      absl::StrCat("HTTP/1.1 200 OK\r\ncontent-length: ", HttpClient::kMaxBodyBytes + 1, "\r\n\r\n");
  const std::string long_head = "HTTP/1.1 200 OK\r\nx: " + std::string(kMaxHttpHeadBytes, 'x') + "\r\n\r\n";
  for (const std::string& bad : {std::string("SSH-2.0-x\r\n\r\n"), large, long_head}) {
    ScriptedServer server({{bad}});
    EXPECT_TRUE(absl::IsInternal(ClientOf(server).Send("GET", {}, "", kLong).status())) << bad.substr(0, 80);
  }
  for (const std::string& cut :
       {std::string(ScriptedServer::kClose), std::string("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nno"),
        std::string("HTTP/1.1 200")}) {
    ScriptedServer server({{cut}});
    EXPECT_TRUE(absl::IsUnavailable(ClientOf(server).Send("GET", {}, "", kLong).status())) << cut;
  }
  std::string nobody;
  {
    ScriptedServer gone({});
    nobody = gone.url();
  }
  const auto refused = HttpClient(*ParseHttpUrl(nobody)).Send("GET", {}, "", kLong);
  EXPECT_TRUE(absl::IsUnavailable(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("Connection refused"));
  const auto unknown = HttpClient(*ParseHttpUrl("http://no-such-host.invalid")).Send("GET", {}, "", kLong);
  EXPECT_TRUE(absl::IsUnavailable(unknown.status()));
  EXPECT_THAT(std::string(unknown.status().message()), HasSubstr("no-such-host.invalid"));
}

TEST(HttpClient, ReconnectsAfterAFault) {
  ScriptedServer server({{ScriptedServer::kClose}, {kOk}});
  HttpClient client = ClientOf(server);
  EXPECT_FALSE(client.Send("GET", {}, "", kLong).ok());
  EXPECT_TRUE(client.Send("GET", {}, "", kLong).ok());
}

TEST(HttpClient, RespectsItsDeadline) {
  ScriptedServer server(
      {{ScriptedServer::kNothing}, {"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nno", ScriptedServer::kNothing}});
  HttpClient client = ClientOf(server);
  EXPECT_TRUE(absl::IsDeadlineExceeded(client.Send("GET", {}, "", absl::Milliseconds(50)).status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(client.Send("GET", {}, "", absl::ZeroDuration()).status()));
}

TEST(HttpClient, CanBeCancelledFromAnotherThread) {
  ScriptedServer server({{ScriptedServer::kNothing}});
  HttpClient client = ClientOf(server);
  std::thread other([&] {
    server.AwaitRequests(1);
    client.Cancel();
  });
  EXPECT_TRUE(absl::IsCancelled(client.Send("GET", {}, "", kLong).status()));
  EXPECT_TRUE(absl::IsCancelled(client.Send("GET", {}, "", kLong).status())) << "and so is all that follows";
  other.join();
  EXPECT_EQ(server.requests().size(), 1U);
}

}  // namespace
}  // namespace vitrine
