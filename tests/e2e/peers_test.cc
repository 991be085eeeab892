// SPDX-License-Identifier: Apache-2.0
// Tests that clients without a credential are distinguished by their source address.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/create_channel_posix.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

sockaddr_in AddressOf(const std::string& host, int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  EXPECT_EQ(inet_pton(AF_INET, host.c_str(), &address.sin_addr), 1);
  return address;
}

// Returns a stub on a connection whose source address is `host`, one of 127.0.0.0/8.
std::unique_ptr<v1::Classifier::Stub> CallFrom(const std::string& host, const std::string& server) {
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(server.substr(server.rfind(':') + 1), &port));
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in own = AddressOf(host, 0), other = AddressOf("127.0.0.1", port);
  EXPECT_EQ(bind(connection, reinterpret_cast<const sockaddr*>(&own), sizeof(own)), 0);
  EXPECT_EQ(connect(connection, reinterpret_cast<const sockaddr*>(&other), sizeof(other)), 0);
  const int flags = fcntl(connection, F_GETFL);
  EXPECT_EQ(fcntl(connection, F_SETFL, flags | O_NONBLOCK), 0);  // gRPC requires a non-blocking socket
  return v1::Classifier::NewStub(grpc::CreateInsecureChannelFromFd(server, connection));
}

grpc::Status Ask(v1::Classifier::Stub& stub, v1::Priority priority) {
  v1::ClassifyRequest request = ImageRequest("slow", SlowImage());
  request.set_priority(priority);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  v1::ClassifyResponse response;
  return stub.Classify(&context, request, &response);
}

TEST(Peers, AHighPriorityLoopDoesNotStarveOtherAddresses) {
  constexpr int kLoops = 8, kAsked = 3;  // 8 is the smallest request limit that reserves a place for a second caller
  const ScratchFolder folder;
  PublishModel(folder.path(), "slow", SlowConfig());
  ServerOptions options = TestOptions(folder.path());
  options.executor.threads = 1;
  options.batch.max_batch_images = 1;
  options.admission.max_requests = kLoops;
  options.batch.patience[kLow] = absl::Hours(1);
  RunningServer running(options);
  const auto modest = CallFrom("127.0.0.2", running.server().address());
  const auto greedy = CallFrom("127.0.0.1", running.server().address());
  ASSERT_TRUE(Ask(*modest, v1::LOW).ok());  // from now on the limit is shared by two callers

  std::atomic<bool> stop = false;
  std::atomic<int> greedy_answers = 0;
  std::vector<std::jthread> loops;
  for (int i = 0; i < kLoops; ++i) {
    loops.emplace_back([&] {
      while (!stop) {
        const bool answered = Ask(*greedy, v1::HIGH).ok();
        greedy_answers += answered;
        if (!answered) absl::SleepFor(absl::Milliseconds(20));  // refusals take less time than answers
      }
    });
  }
  EXPECT_TRUE(Eventually([&] { return running.Metric("vitrine_in_flight ") >= kLoops - 1; }));
  const int before = greedy_answers;
  int answered = 0;
  while (answered < kAsked) {
    const grpc::Status status = Ask(*modest, v1::LOW);
    EXPECT_TRUE(status.ok()) << status.error_message();
    if (!status.ok()) break;
    ++answered;
  }
  EXPECT_LE(greedy_answers - before, 5 * kAsked) << "they take turns; the one that is running is not interrupted";
  stop = true;
  loops.clear();
  EXPECT_THAT(running.Get("/metrics"), ::testing::Not(::testing::HasSubstr("127.0.0.2")));
}

}  // namespace
}  // namespace vitrine::testing
