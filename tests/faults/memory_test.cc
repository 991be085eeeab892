// What callers can make the transport hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "tests/e2e/child_server.h"
#include "tests/e2e/published.h"
#include "tests/e2e/running_server.h"
#include "tests/faults/raw_http2.h"

namespace vitrine::testing {
namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20;

// The most bytes that the process has had in memory so far.
int64_t PeakMemory(const ChildServer& server) {
  std::ifstream status("/proc/" + std::to_string(server.pid()) + "/status");
  for (std::string word; status >> word;) {
    int64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
  }
  ADD_FAILURE() << "the server's memory cannot be read";
  return 0;
}

grpc::Status ClassifyOn(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub =
      v1::Classifier::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  v1::ClassifyResponse response;
  return stub->Classify(&context, PictureRequest("mixed", NoiseJpeg(24, 24, 1)), &response);
}

// gRPC buffers a message until its last byte, without a bound of its own: these are 2.3 GB. The second round finds
// what the first has held free again.
TEST(Memory, MessagesThatNeverEndAreBounded) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "mixed", MixedConfig());
  ChildServer server(folder.path(), {"--repository", folder.path() / "repository", "--listen", "127.0.0.1:0",
                                     "--metrics", "127.0.0.1:0"});
  const std::string address = server.AwaitReady();
  ASSERT_TRUE(ClassifyOn(address).ok());
  const int64_t before = PeakMemory(server);
  constexpr int64_t kMessage = 15'000'000, kCalls = 150;
  for (int round = 0; round < 2; ++round) {
    RawHttp2 client(address);
    for (int i = 0; i < kCalls; ++i) client.Open("/vitrine.v1.Classifier/Classify", kMessage);
    EXPECT_GT(client.Push(kMessage - 1, absl::Milliseconds(500)), 300 * kMebibyte) << "the server never held much";
    EXPECT_LT(client.open(), kCalls) << "calls beyond the bound are ended";
    EXPECT_FALSE(client.closed());
    // Others are served meanwhile.
    EXPECT_TRUE(Eventually([&] { return ClassifyOn(address).ok(); }));
  }
  // The bound is 512 MiB; what the allocator keeps of the first round may come on top.
  EXPECT_LT(PeakMemory(server) - before, 1280 * kMebibyte);
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0) << server.Output();
}

}  // namespace
}  // namespace vitrine::testing
