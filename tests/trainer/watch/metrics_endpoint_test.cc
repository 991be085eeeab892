// SPDX-License-Identifier: Apache-2.0
#include "trainer/watch/metrics_endpoint.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <string>

#include "tests/trainer/watch/made_run.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Sends one request to 127.0.0.1:PORT and returns the whole response, head and body.
std::string Ask(const std::string& address, const std::string& request) {
  sockaddr_in server = {};
  server.sin_family = AF_INET;
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  server.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(connect(connection, reinterpret_cast<sockaddr*>(&server), sizeof(server)), 0);
  const std::string text = request + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  EXPECT_EQ(write(connection, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  std::string answer;
  char part[4096];
  for (ssize_t got; (got = read(connection, part, sizeof(part))) > 0;) answer.append(part, static_cast<size_t>(got));
  close(connection);
  return answer;
}

std::unique_ptr<MetricsEndpoint> Start(const TrainingMetrics& metrics) {
  auto endpoint = MetricsEndpoint::Start({.address = "127.0.0.1:0"}, metrics);
  EXPECT_TRUE(endpoint.ok()) << endpoint.status();
  return std::move(endpoint).value();
}

TEST(MetricsEndpoint, ServesTheMetricsOfTheRun) {
  TrainingMetrics metrics("eit-mini-cifar10", "1.2.3");
  const auto endpoint = Start(metrics);
  const std::string before = Ask(endpoint->address(), "GET /metrics");
  EXPECT_THAT(before, AllOf(StartsWith("HTTP/1.1 200 OK"), HasSubstr("vitrine_build_info{version=\"1.2.3\"} 1"),
                            HasSubstr("vitrine_train_info{recipe=\"eit-mini-cifar10\"} 1"),
                            Not(HasSubstr("vitrine_train_loss"))));
  const double start = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  Feed(0, 8, metrics);
  const std::string text = Ask(endpoint->address(), "GET /metrics");
  EXPECT_THAT(text, HasSubstr("Content-Type: text/plain; version=0.0.4"));
  for (const char* line :
       {"# TYPE vitrine_train_steps_total counter\nvitrine_train_steps_total 8\n", "vitrine_train_samples_total 256\n",
        "# TYPE vitrine_train_data_wait_seconds_total counter\nvitrine_train_data_wait_seconds_total 12\n",
        "vitrine_train_planned_steps 12\n", "vitrine_train_epoch 2\n", "vitrine_train_learning_rate 0.000125\n",
        "vitrine_train_remaining_seconds 52\n", "vitrine_train_score{split=\"test\",measure=\"loss\"} 0.25\n",
        "vitrine_train_score{split=\"validation\",measure=\"top1\"} 0.35294"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  const std::string name = "\nvitrine_train_last_step_timestamp_seconds ";
  ASSERT_THAT(text, HasSubstr(name));
  const double stamp = std::stod(text.substr(text.find(name) + name.size()));
  EXPECT_NEAR(stamp, start, 60);

  EXPECT_THAT(Ask(endpoint->address(), "GET /healthz"), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("ok\n")));
  EXPECT_THAT(Ask(endpoint->address(), "GET /etc/passwd"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Ask(endpoint->address(), "POST /metrics"), StartsWith("HTTP/1.1 405"));
  const std::string head = Ask(endpoint->address(), "HEAD /metrics");
  EXPECT_EQ(head.substr(head.size() - 4), "\r\n\r\n") << "no body";
}

TEST(MetricsEndpoint, RefusesInvalidAndUsedAddresses) {
  TrainingMetrics metrics("made", "1");
  const auto refusal = [&](const std::string& address) {
    return MetricsEndpoint::Start({.address = address}, metrics).status();
  };
  for (const char* address : {"", "9400", ":9400", "localhost:", "localhost:many", "localhost:70000"}) {
    EXPECT_EQ(refusal(address).code(), absl::StatusCode::kInvalidArgument) << address;
  }
  const auto endpoint = Start(metrics);
  EXPECT_EQ(refusal(endpoint->address()).code(), absl::StatusCode::kUnavailable) << "taken";
}

TEST(TrainingMetrics, OmitAMissingAccuracy) {
  TrainingMetrics metrics("made", "1");
  StepReport report = MadeStep(1);
  report.epoch_accuracy = std::numeric_limits<double>::quiet_NaN();
  metrics.OnStep(report);
  for (const auto& family : metrics.Collect()) EXPECT_NE(family.name, "vitrine_train_accuracy_ratio");
}

TEST(TrainingMetrics, PassPromtool) {
  if (std::system("promtool --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "needs promtool (Debian: prometheus)";
  TrainingMetrics metrics("made", "1");
  Feed(0, kMadeSteps, metrics);
  const auto endpoint = Start(metrics);
  const ScratchFolder folder;
  const std::string answer = Ask(endpoint->address(), "GET /metrics");
  std::ofstream(folder.path() / "metrics") << answer.substr(answer.find("\r\n\r\n") + 4);
  EXPECT_EQ(std::system(("promtool check metrics < " + (folder.path() / "metrics").string()).c_str()), 0);
}

}  // namespace
}  // namespace vitrine
