// SPDX-License-Identifier: Apache-2.0
// vitrine-server where the system gives it no more memory: requests are refused, and it serves on.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/child_server.h"
#include "tests/e2e/published.h"
#include "tests/e2e/running_server.h"
#include "vitrine/v1/classifier.grpc.pb.h"

namespace vitrine::testing {
namespace {

constexpr int kSide = 4000;
constexpr int64_t kMessage = int64_t{kSide} * kSide * 3 * sizeof(float);  // 192 MB
// Beside what is used when it starts. gRPC ends the process when it finds no memory: this is enough for its copy of a
// message and for the first two steps of the server's own, which grows from 50 MB by doubling, with a margin; not for
// the third.
constexpr int64_t kRoom = kMessage / 4 * 9;

// The address space that the process uses.
int64_t AddressSpace(pid_t process) {
  int64_t pages = 0;
  std::ifstream("/proc/" + std::to_string(process) + "/statm") >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

void LimitAddressSpace(pid_t process, rlim_t bytes) {
  rlimit limit;
  ASSERT_EQ(prlimit(process, RLIMIT_AS, nullptr, &limit), 0);
  limit.rlim_cur = std::min(bytes, limit.rlim_max);  // more than that is not ours to give
  ASSERT_EQ(prlimit(process, RLIMIT_AS, &limit, nullptr), 0);
}

v1::ClassifyRequest LargeTensor() {
  v1::ClassifyRequest request;
  request.set_model("null");
  v1::RawTensor& tensor = *request.mutable_tensor();
  tensor.set_data_type(v1::RawTensor::DATA_FLOAT32);
  tensor.set_height(kSide);
  tensor.set_width(kSide);
  tensor.set_channels(3);
  tensor.set_data(std::string(kMessage, '\0'));
  return request;
}

TEST(MemoryLimit, RequestsThatFindNoMemoryAreRefused) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "null", NullModelConfig());
  ChildServer server(folder.path(), {"--repository", folder.path() / "repository", "--listen", "127.0.0.1:0",
                                     "--metrics", "127.0.0.1:0", "--max-message-bytes", "200000000"});
  const std::string address = server.AwaitReady();
  ASSERT_FALSE(address.empty());
  const auto stub = v1::Classifier::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  const auto classify = [&](const v1::ClassifyRequest& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::ClassifyResponse response;
    return stub->Classify(&context, request, &response);
  };
  const v1::ClassifyRequest large = LargeTensor(), small = PictureRequest("null", NoiseJpeg(24, 24, 1));
  // What threads take for good, their heaps of 64 MB among it, they take before the limit is set.
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      for (int call = 0; call < 8; ++call) EXPECT_TRUE(classify(small).ok());
    });
  }
  for (std::thread& caller : callers) caller.join();
  LimitAddressSpace(server.pid(), AddressSpace(server.pid()) + kRoom);
  for (int i = 0; i < 5; ++i) {
    const grpc::Status status = classify(large);
    ASSERT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message() << server.Output();
    EXPECT_THAT(status.error_message(), ::testing::StartsWith("the server has no memory left for this request"));
  }
  EXPECT_TRUE(classify(small).ok()) << server.Output();
  LimitAddressSpace(server.pid(), RLIM_INFINITY);
  EXPECT_TRUE(classify(large).ok());
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0) << server.Output();
}

}  // namespace
}  // namespace vitrine::testing
