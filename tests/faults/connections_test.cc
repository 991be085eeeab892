// Peers that stall, vanish or speak nonsense.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/e2e/published.h"
#include "tests/e2e/running_server.h"
#include "tests/faults/raw_http2.h"

namespace vitrine::testing {
namespace {

using ::testing::StartsWith;

constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

void Send(int connection, const std::string& bytes) {
  (void)!send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

// What the service does for everybody else.
void ExpectServes(RunningServer& running) {
  v1::ClassifyResponse response;
  const grpc::Status status = running.Classify(PictureRequest("mixed", NoiseJpeg(24, 24, 1)), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST(Connections, IdleOnesAreSentAwayWhenTheyAreOld) {
  const TemporaryFolder folder;
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
  EXPECT_TRUE(Eventually([&] {
    return std::none_of(idle.begin(), idle.end(),
                        [](const auto& channel) { return channel->GetState(false) == GRPC_CHANNEL_READY; });
  })) << "an idle connection was kept";
  ExpectServes(running);
}

TEST(Connections, NonsenseAndHalfMessagesAreHarmless) {
  const TemporaryFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  RunningServer running(folder.path());
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(kPreface), std::string(kPreface, 10),
        std::string(kPreface) + std::string("\xff\xff\xff\x00\x00\x00\x00\x00\x01", 9), std::string(4096, '\xff')}) {
    const int connection = ConnectTcp(running.server().address());
    Send(connection, bytes);
    ExpectServes(running);
    close(connection);
  }
}

TEST(Connections, AClientThatVanishesInMidCallLeavesNothingBehind) {
  const TemporaryFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  PublishModel(folder.path(), "slow", SlowConfig());
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
      readers.push_back(stub->AsyncClassify(contexts.back().get(), PictureRequest("slow", SlowPicture()), &queue));
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
  ExpectServes(running);
  EXPECT_TRUE(Eventually([&] { return running.Metric("vitrine_in_flight ") == 0; }));
  const Server::Counts counts = running.server().Drain();
  EXPECT_EQ(counts.accepted, counts.answered);
}

TEST(Connections, AScraperThatDoesNotReadBlocksNobody) {
  const TemporaryFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  RunningServer running(folder.path());
  const int slow = ConnectTcp(running.server().metrics_address());
  const int tiny = 1;
  setsockopt(slow, SOL_SOCKET, SO_RCVBUF, &tiny, sizeof(tiny));
  Send(slow, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  std::atomic<bool> stop = false;
  std::jthread scraper([&] {
    while (!stop) EXPECT_THAT(running.Get("/metrics"), StartsWith("HTTP/1.1 200 "));
  });
  for (int i = 0; i < 200; ++i) ExpectServes(running);
  stop = true;
  scraper.join();
  close(slow);
}

}  // namespace
}  // namespace vitrine::testing
