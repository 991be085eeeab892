// SPDX-License-Identifier: Apache-2.0
// Tests requests whose model names refer to files outside the repository.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

TEST(Names, ARequestCannotNameAFileOutsideTheRepository) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "inside", "mixed", MixedConfig());
  PublishModel(folder.path() / "outside", "secret", MixedConfig());
  RunningServer running(folder.path() / "inside");
  for (const std::string& name : {std::string("../outside/secret"), std::string("mixed/../../outside/secret"),
                                  std::string("mixed\0", 6), std::string("m\xc3\xbcxed"), std::string(1000, 'a'),
                                  std::string("/etc/passwd"), std::string("."), std::string("")}) {
    v1::ClassifyResponse response;
    const grpc::Status status = running.Classify(ImageRequest(name, NoiseJpeg(24, 24, 1)), &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
    EXPECT_LT(status.error_message().size(), 1000u) << "the error repeats the whole name";
  }
}

}  // namespace
}  // namespace vitrine::testing
