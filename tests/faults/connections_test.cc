// SPDX-License-Identifier: Apache-2.0
// Tests clients that stall, disconnect during a call, or send invalid bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "absl/time/clock.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/faults/raw_http2.h"

namespace vitrine::testing {
namespace {

using ::testing::StartsWith;

constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

void Send(int connection, const std::string& bytes) {
  (void)!send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

// Expects that other clients are still served.
void ExpectServes(RunningServer& running) {
  v1::ClassifyResponse response;
  const grpc::Status status = running.Classify(ImageRequest("mixed", NoiseJpeg(24, 24, 1)), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST(Connections, IdleConnectionsAreClosedAtTheirMaximumAge) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  ServerOptions options = TestOptions(folder.path());
  options.rpc.max_connection_age = absl::Seconds(1);
  RunningServer running(options);
  ExpectServes(running);
  std::vector<std::shared_ptr<grpc::Channel>> idle;
  for (int i = 0; i < 100; ++i) {
    idle.push_back(running.NewChannel());
    ASSERT_TRUE(idle.back()->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(10)));
  }
  EXPECT_EQ(running.Metric("vitrine_connections_total "), 101);
  EXPECT_TRUE(Eventually([&] { return running.Metric("vitrine_connections ") <= 1; })) << "an idle connection was kept";
  ExpectServes(running);
}

TEST(Connections, InvalidAndIncompleteMessagesAreHarmless) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  RunningServer running(folder.path());
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string(kPreface), std::string(kPreface, 10),
        std::string(kPreface) + std::string("\xff\xff\xff\x00\x00\x00\x00\x00\x01", 9), std::string(4096, '\xff')}) {
    const int connection = ConnectTcp(running.server().address());
    Send(connection, bytes);
    ExpectServes(running);
    close(connection);
  }
}

TEST(Connections, CallsOfADisconnectedClientAreCancelled) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  PublishModel(folder.path(), "slow", VerySlowConfig());
  ServerOptions options = TestOptions(folder.path());
  options.executor.threads = 1;
  RunningServer running(options);
  grpc::CompletionQueue queue;
  grpc::Status statuses[8];
  v1::ClassifyResponse responses[8];
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  {
    const auto stub = v1::Classifier::NewStub(running.NewChannel());
    std::vector<std::unique_ptr<grpc::ClientAsyncResponseReader<v1::ClassifyResponse>>> readers;
    for (int i = 0; i < 8; ++i) {
      contexts.push_back(std::make_unique<grpc::ClientContext>());
      readers.push_back(stub->AsyncClassify(contexts.back().get(), ImageRequest("slow", SlowImage()), &queue));
      readers.back()->Finish(&responses[i], &statuses[i], nullptr);
    }
    ASSERT_TRUE(Eventually([&] { return running.Metric("vitrine_in_flight ") == 8; }));
    for (const auto& context : contexts) context->TryCancel();
    for (int i = 0; i < 8; ++i) {
      void* tag = nullptr;
      bool ok = false;
      queue.Next(&tag, &ok);
    }
  }
  queue.Shutdown();
  // The resets and the next call use different connections, so the resets may arrive later. Until they arrive, the
  // server correctly counts eight slow requests ahead of the call.
  ASSERT_TRUE(Eventually([&] { return running.Metric("vitrine_in_flight ") <= 1; })) << "a cancelled call was kept";
  ExpectServes(running);
  EXPECT_TRUE(Eventually([&] { return running.Metric("vitrine_in_flight ") == 0; }));
  const Server::Counts counts = running.server().Drain();
  EXPECT_EQ(counts.accepted, counts.answered);
}

// The client connects, but then reads nothing and answers no ping.
TEST(Connections, ASilentConnectionIsClosedAtItsMaximumAge) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  ServerOptions options = TestOptions(folder.path());
  options.rpc.max_connection_age = absl::Seconds(1);
  RunningServer running(options);
  RawHttp2 silent(running.server().address());
  ExpectServes(running);
  EXPECT_TRUE(Eventually([&] {
    silent.Push(0, absl::Milliseconds(1));
    return silent.closed();
  })) << "the connection was kept";
}

TEST(Connections, IncompleteCallsDoNotDelayTheEndOfTheServer) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  RunningServer running(folder.path());
  RawHttp2 silent(running.server().address());
  for (int i = 0; i < 20; ++i) silent.Open("/vitrine.v1.Classifier/Classify", 1000);
  for (int i = 0; i < 20; ++i) silent.Open("/vitrine.v1.Classifier/ClassifyStream", 1000);
  EXPECT_EQ(silent.Push(999, absl::Seconds(10)), 40 * 999);
  for (int i = 0; i < 20; ++i) ExpectServes(running);
  EXPECT_EQ(running.Metric("vitrine_in_flight "), 0) << "the server accepted an incomplete call";
  const absl::Time begin = absl::Now();
  const Server::Counts counts = running.server().Drain();
  EXPECT_EQ(counts.accepted, 20);
  EXPECT_EQ(counts.answered, 20);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10)) << "the server waited for incomplete calls";
}

// There are three times as many scrapers as threads for the page, and half of them do not send a complete request.
TEST(Connections, ManyScrapersThatDoNotReadBlockNoOtherClient) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  RunningServer running(folder.path());
  std::vector<int> slow;
  for (int i = 0; i < 48; ++i) {
    slow.push_back(ConnectTcp(running.server().metrics_address()));
    const int tiny = 1;
    setsockopt(slow.back(), SOL_SOCKET, SO_RCVBUF, &tiny, sizeof(tiny));
    Send(slow.back(), i % 2 == 0 ? "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" : "GET /metr");
  }
  for (int i = 0; i < 100; ++i) ExpectServes(running);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(running.Get("/healthz"), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(running.Get("/metrics"), StartsWith("HTTP/1.1 200 "));
  }
  for (const int connection : slow) close(connection);
}

// Without a separate limit, a client that grants no window for its answer would keep the process alive until the drain
// deadline.
TEST(Connections, AnUnreadAnswerDoesNotDelayTheEndOfTheServer) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  ServerOptions options = TestOptions(folder.path());
  options.drain_deadline = absl::Seconds(60);
  RunningServer running(options);
  RawHttp2 client(running.server().address(), /*answer_window=*/0);
  client.Call("/vitrine.v1.Classifier/Classify", ImageRequest("mixed", NoiseJpeg(24, 24, 1)).SerializeAsString());
  ASSERT_TRUE(Eventually([&] {
    client.Push(0, absl::Milliseconds(10));
    return running.Metric(R"(vitrine_requests_total{model="mixed",method="Classify",code="OK"})") > 0;
  }));
  const absl::Time start = absl::Now();
  running.server().Drain();
  EXPECT_LT(absl::Now() - start, absl::Seconds(20));
  EXPECT_GT(absl::Now() - start, absl::Seconds(2)) << "the client read the answer, so this test proved nothing";
}

}  // namespace
}  // namespace vitrine::testing
