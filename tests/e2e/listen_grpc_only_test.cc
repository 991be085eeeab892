// SPDX-License-Identifier: Apache-2.0
// Tests a server whose port is only for gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ListenGrpcOnly, ServesGrpcAndRefusesHttp) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  ServerOptions options = TestOptions(folder.path());
  const auto answer = [](RunningServer& running, const std::string& method, const std::string& path) {
    return HttpExchange(running.server().address(),
                        absl::StrCat(method, " ", path, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n",
                                     method == "POST" ? "Content-Length: 0\r\n" : "", "\r\n"));
  };
  {
    RunningServer both(options);
    EXPECT_THAT(answer(both, "GET", "/v1/models"), StartsWith("HTTP/1.1 200 "));
  }
  options.listen_grpc_only = true;
  RunningServer running(options);
  v1::ClassifyResponse response;
  EXPECT_TRUE(running.Classify(ImageRequest("mixed", NoiseJpeg(24, 24, 1)), &response).ok());
  for (const std::string path : {"/", "/v1/models", "/v2", "/v2/health/ready", "/v2/models/mixed"}) {
    const std::string refused = answer(running, "GET", path);
    EXPECT_THAT(refused, StartsWith("HTTP/1.1 415 ")) << path;
    EXPECT_THAT(refused, HasSubstr("only gRPC is served here")) << path;
  }
  EXPECT_THAT(answer(running, "POST", "/v1/models/mixed:classify"), StartsWith("HTTP/1.1 415 "));
  EXPECT_THAT(answer(running, "POST", "/v2/models/mixed/infer"), StartsWith("HTTP/1.1 415 "));
}

}  // namespace
}  // namespace vitrine::testing
