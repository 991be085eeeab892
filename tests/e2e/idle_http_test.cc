// SPDX-License-Identifier: Apache-2.0
// Tests that probes are answered while many HTTP connections send little or nothing. There are many more of these
// connections than worker threads.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

using ::testing::StartsWith;

constexpr int kMany = 200;

// Open connections to 127.0.0.1:port that have all sent the same bytes.
class Crowd {
 public:
  Crowd(const std::string& address, const std::string& bytes, int count = kMany) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(std::atoi(address.substr(address.rfind(':') + 1).c_str())));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < count; ++i) {
      const int made = socket(AF_INET, SOCK_STREAM, 0);
      EXPECT_EQ(connect(made, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
      EXPECT_EQ(send(made, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
      connections_.push_back(made);
    }
  }
  ~Crowd() {
    for (const int each : connections_) close(each);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  // Returns the number of connections that the server has not closed.
  int Open() const {
    int open = 0;
    for (const int each : connections_) {
      char byte;
      open += recv(each, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN ? 1 : 0;
    }
    return open;
  }

 private:
  std::vector<int> connections_;
};

class IdleHttp : public ::testing::Test {
 protected:
  IdleHttp() {
    PublishModel(folder_.path(), "mixed", MixedConfig());
    ServerOptions options = TestOptions(folder_.path());
    options.http = "127.0.0.1:0";
    running_ = std::make_unique<RunningServer>(options);
  }

  // Returns the readiness response of the Open Inference Protocol's port.
  std::string HttpReady() const {
    return HttpExchange(http(), "GET /v2/health/ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }
  const std::string& http() const { return running_->server().http_address(); }
  const std::string& metrics() const { return running_->server().metrics_address(); }

  const ScratchFolder folder_;
  std::unique_ptr<RunningServer> running_;
};

TEST_F(IdleHttp, SilentConnectionsAndPartialHeadersDelayNoProbe) {
  for (const char* bytes : {"", "GET /v2/health/ready HTTP/1.1\r\nHo"}) {
    const Crowd probes(metrics(), bytes);
    EXPECT_THAT(running_->Get("/readyz"), StartsWith("HTTP/1.1 200 "));
    EXPECT_EQ(probes.Open(), kMany) << "answered only after others were sent away";
    const Crowd callers(http(), bytes);
    EXPECT_THAT(HttpReady(), StartsWith("HTTP/1.1 200 "));
    EXPECT_EQ(callers.Open(), kMany) << "answered only after others were sent away";
  }
}

// Requests whose body is incomplete must not occupy the worker threads.
TEST_F(IdleHttp, MissingBodiesDelayNoProbe) {
  const Crowd posts(metrics(), "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nbody");
  EXPECT_THAT(running_->Get("/readyz"), StartsWith("HTTP/1.1 200 "));
  const Crowd callers(http(), "POST /v2/models/mixed/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nbody");
  EXPECT_THAT(HttpReady(), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(callers.Open(), kMany) << "answered only after others were sent away";
}

// The responses are larger than the system's socket buffers.
TEST_F(IdleHttp, UnreadAnswersDelayNoProbe) {
  std::string scrapes;
  for (int i = 0; i < 400; ++i) scrapes += "GET /v2/models/mixed HTTP/1.1\r\nHost: x\r\n\r\n";
  const Crowd callers(http(), scrapes);
  EXPECT_THAT(HttpReady(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(IdleHttp, ResponsesThatAClientDoesNotReadAreCounted) {
  EXPECT_EQ(running_->Metric("vitrine_unsent_bytes "), 0);
  std::string requests;  // their responses are larger than the buffers of the kernel
  for (int i = 0; i < 400; ++i) requests += "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";
  {
    const Crowd reads_nothing(http(), requests, 1);
    EXPECT_TRUE(Eventually([&] { return running_->Metric("vitrine_unsent_bytes ") > 0; }, absl::Seconds(20)));
    const std::regex unsent("\"listener\": \"http\",[^}]*\"unsent_bytes\": [1-9]");
    EXPECT_TRUE(Eventually([&] { return std::regex_search(running_->Get("/statusz"), unsent); }, absl::Seconds(20)));
  }
  EXPECT_TRUE(Eventually([&] { return running_->Metric("vitrine_unsent_bytes ") == 0; }, absl::Seconds(20)));
}

}  // namespace
}  // namespace vitrine::testing
