// SPDX-License-Identifier: Apache-2.0
// Tests a server process that is killed or has no free file descriptors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <vector>

#include "tests/e2e/testing/child_server.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/faults/raw_http2.h"

namespace vitrine::testing {
namespace {

std::vector<std::string> Flags(const std::filesystem::path& repository) {
  return {"--repository", repository, "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"};
}

grpc::Status Classify(const std::string& address, v1::ClassifyResponse* response) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub =
      v1::Classifier::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  return stub->Classify(&context, ImageRequest("mixed", NoiseJpeg(24, 24, 1)), response);
}

TEST(Process, AfterSigkillTheServerStartsWithTheLastValidVersion) {
  const ScratchFolder folder;
  const std::filesystem::path repository = folder.path() / "repository";
  PublishModel(repository, "mixed", MixedConfig(), 1);
  PublishModel(repository, "mixed", MixedConfig(), 2);
  std::filesystem::resize_file(repository / "mixed" / "2" / "weights.safetensors", 100);
  for (int life = 0; life < 2; ++life) {
    ChildServer server(folder.path(), Flags(repository));
    const std::string address = server.AwaitReady();
    v1::ClassifyResponse response;
    const grpc::Status status = Classify(address, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.served_by().version(), 1);
    server.Signal(SIGKILL);
    EXPECT_EQ(server.Wait(), 128 + SIGKILL);
  }
}

// With the usual soft limit of 1024 file descriptors, only a few hundred clients could connect. The server must raise
// the soft limit to the hard limit.
TEST(Process, ASmallSoftLimitOfFileDescriptorsDoesNotLimitConnections) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "mixed", MixedConfig());
  rlimit before;
  getrlimit(RLIMIT_NOFILE, &before);
  if (before.rlim_max < 1000) GTEST_SKIP() << "the hard limit of this machine is below 1000 file descriptors";
  const rlimit small = {.rlim_cur = 120, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &small);
  ChildServer server(folder.path(), Flags(folder.path() / "repository"));
  setrlimit(RLIMIT_NOFILE, &before);
  const std::string address = server.AwaitReady();
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < 200; ++i) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channels.push_back(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    ASSERT_TRUE(channels.back()->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(10)))
        << "connection " << i;
  }
  v1::ClassifyResponse response;
  EXPECT_TRUE(Classify(address, &response).ok());
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0) << server.Output();
}

int TimesSaid(const ChildServer& server, const std::string& words) {
  const std::string output = server.Output();
  int times = 0;
  for (size_t at = output.find(words); at != std::string::npos; at = output.find(words, at + 1)) ++times;
  return times;
}

TEST(Process, AcceptsConnectionsAgainAfterItHadNoFreeFileDescriptor) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "mixed", MixedConfig());
  ChildServer server(folder.path(), Flags(folder.path() / "repository"));
  const std::string address = server.AwaitReady();
  v1::ClassifyResponse response;
  ASSERT_TRUE(Classify(address, &response).ok());
  const rlimit small = {.rlim_cur = 120, .rlim_max = 120};
  ASSERT_EQ(prlimit(server.pid(), RLIMIT_NOFILE, &small, nullptr), 0);
  for (int round = 0; round < 2; ++round) {
    const int before = TimesSaid(server, "reason=connection_limit");
    std::vector<int> connections;
    for (int i = 0; i < 200; ++i) connections.push_back(ConnectTcp(address));
    EXPECT_TRUE(Eventually([&] { return TimesSaid(server, "reason=connection_limit") > before; }))
        << "the descriptors were not used up, so this test proved nothing";
    EXPECT_TRUE(Eventually([&] { return Classify(address, &response).ok(); }))
        << "the server did not close the connection with the longest idle time";
    EXPECT_THAT(HttpExchange(server.metrics_address(), "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
                ::testing::StartsWith("HTTP/1.1 200 "))
        << "no descriptor is reserved for the metrics page";
    for (const int connection : connections) close(connection);
    EXPECT_TRUE(Eventually([&] { return Classify(address, &response).ok(); })) << server.Output();
  }
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0) << server.Output();
}

}  // namespace
}  // namespace vitrine::testing
