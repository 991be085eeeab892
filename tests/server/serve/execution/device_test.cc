// SPDX-License-Identifier: Apache-2.0
#include "server/registry/device.h"

#include <gmock/gmock.h>

#include <filesystem>

namespace vitrine {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST(ParseDevice, ParsesCpuAndCuda) {
  EXPECT_EQ(ParseDevice("cpu").value().name(), "cpu");
  EXPECT_EQ(ParseDevice("cuda").value().name(), "cuda:0");
  EXPECT_EQ(ParseDevice("cuda:3").value().name(), "cuda:3");
  EXPECT_EQ(ParseDevice("cuda:3").value().kind_name(), "cuda");
  EXPECT_EQ(ParseDevice("cuda:127").value().name(), "cuda:127") << "the largest number";
}

TEST(ParseDevice, TheErrorListsTheKnownDevices) {
  for (const char* text : {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "cuda:128", "cuda:999", "CPU", "cuda: 1"}) {
    const auto device = ParseDevice(text);
    EXPECT_EQ(device.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(device.status().ToString(), HasSubstr("use cpu, cuda:0"));
  }
}

TEST(OpenDevice, OpensTheCpu) {
  EXPECT_TRUE(OpenDevice({}).ok());
}

TEST(OpenDevice, CudaWithoutADriverIsRefusedWithTheReason) {
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "this machine has an NVIDIA device";
  const absl::Status refused = OpenDevice({Device::Kind::kCuda, 0});
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.ToString(), HasSubstr("device cuda:0 cannot be used: "));
  EXPECT_THAT(refused.ToString(), AnyOf(HasSubstr("there is no NVIDIA driver on this machine (libcuda.so.1"),
                                        HasSubstr("Vitrine's engine for CUDA, libvitrine_cuda.so, cannot be loaded")));
  EXPECT_THAT(refused.ToString(), HasSubstr("start with --device cpu instead"));
}

}  // namespace
}  // namespace vitrine
