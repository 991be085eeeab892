// SPDX-License-Identifier: Apache-2.0
// Tests the Open Inference Protocol over real connections: readiness, and rejections by the streaming RPCs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "client/commands/token_command.h"
#include "inference/grpc_service.grpc.pb.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

using ::testing::StartsWith;

inference::ModelInferRequest PixelsRequest(int images) {
  inference::ModelInferRequest request;
  request.set_model_name("mixed");
  auto& input = *request.add_inputs();
  input.set_name("image");
  input.set_datatype("UINT8");
  for (const int64_t side : {images, 16, 16, 3}) input.add_shape(side);
  request.add_raw_input_contents(std::string(static_cast<size_t>(images) * 16 * 16 * 3, 'x'));
  return request;
}

// A load balancer that polls the Open Inference Protocol instead of the health service must also stop sending requests.
TEST(OipReady, ServerAndModelsAreNotReadyDuringADrain) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  ServerOptions options = TestOptions(folder.path());
  options.lame_duck = absl::Minutes(10);
  RunningServer running(options);
  const auto stub = inference::GRPCInferenceService::NewStub(running.channel());
  const auto model_is_ready = [&] {
    inference::ModelReadyRequest request;
    request.set_name("mixed");
    inference::ModelReadyResponse response;
    grpc::ClientContext context;
    return stub->ModelReady(&context, request, &response).ok() && response.ready();
  };
  const auto server_is_ready = [&] {
    inference::ServerReadyResponse response;
    grpc::ClientContext context;
    return stub->ServerReady(&context, {}, &response).ok() && response.ready();
  };
  EXPECT_TRUE(model_is_ready());
  EXPECT_TRUE(server_is_ready());
  std::jthread drain([&] { running.server().Drain(); });
  EXPECT_TRUE(Eventually([&] { return !server_is_ready(); }));
  EXPECT_FALSE(model_is_ready());
  running.server().Hurry();
}

class OipStreams : public ::testing::Test {
 protected:
  OipStreams() : options_(TestOptions(folder_.path() / "repository")) {
    PublishModel(folder_.path() / "repository", "mixed", MixedConfig());
    options_.identity.tokens = folder_.Path("tokens");
    options_.identity.reread_interval = absl::Milliseconds(5);
    token_ = NewToken("ci");
  }

  std::string NewToken(const std::string& name) {
    std::ostringstream out;
    EXPECT_EQ(MakeToken(name, options_.identity.tokens, out), absl::OkStatus());
    std::string token = out.str();
    token.pop_back();
    return token;
  }

  // Returns the status of a stream that sends no request.
  template <typename Open>
  static grpc::StatusCode Try(const std::string& token, const Open& open) {
    grpc::ClientContext context;
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    const auto stream = open(&context);
    stream->WritesDone();
    return stream->Finish().error_code();
  }

  const ScratchFolder folder_;
  ServerOptions options_;
  std::string token_;
};

double Refusals(const RunningServer& running, const std::string& code) {
  return running.Metric(absl::StrCat("vitrine_authorization_refusals_total{code=\"", code, "\"}"));
}

TEST_F(OipStreams, RefusedStreamsAreCounted) {
  options_.identity.policy = folder_.Write("policy", R"(
    roles { name: "looks" methods: "/vitrine.v1.Registry/*" } callers { token: "ci" roles: "looks" })");
  RunningServer running(options_);
  const auto oip = inference::GRPCInferenceService::NewStub(running.channel());
  const auto classify = [&](grpc::ClientContext* context) { return running.classifier().ClassifyStream(context); };
  const auto infer = [&](grpc::ClientContext* context) { return oip->ModelStreamInfer(context); };
  EXPECT_EQ(Try("", classify), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Refusals(running, "UNAUTHENTICATED"), 1);
  EXPECT_EQ(Try("", infer), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Refusals(running, "UNAUTHENTICATED"), 2);
  EXPECT_EQ(Refusals(running, "PERMISSION_DENIED"), 0);
  EXPECT_EQ(Try(token_, classify), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Refusals(running, "PERMISSION_DENIED"), 1);
  EXPECT_EQ(Try(token_, infer), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Refusals(running, "PERMISSION_DENIED"), 2);
  EXPECT_EQ(Refusals(running, "UNAUTHENTICATED"), 2);
}

TEST_F(OipStreams, RefusedRequestsOfAStreamAreCounted) {
  RunningServer running(options_);
  const auto oip = inference::GRPCInferenceService::NewStub(running.channel());
  grpc::ClientContext infer_context, classify_context;
  for (grpc::ClientContext* context : {&infer_context, &classify_context}) {
    context->AddMetadata("authorization", "Bearer " + token_);
  }
  const auto infer = oip->ModelStreamInfer(&infer_context);
  const auto classify = running.classifier().ClassifyStream(&classify_context);
  inference::ModelStreamInferResponse inferred;
  v1::ClassifyRequest request = ImageRequest("mixed", NoiseJpeg(32, 32, 1));
  request.set_request_id("1");
  v1::ClassifyStreamResponse classified;
  ASSERT_TRUE(infer->Write(PixelsRequest(1)) && infer->Read(&inferred));
  EXPECT_EQ(inferred.error_message(), "");
  ASSERT_TRUE(classify->Write(request) && classify->Read(&classified));
  EXPECT_TRUE(classified.has_response());
  EXPECT_EQ(Refusals(running, "UNAUTHENTICATED"), 0);

  folder_.Write("tokens", "");
  NewToken("other");
  ASSERT_TRUE(Eventually(
      [&] { return infer->Write(PixelsRequest(1)) && infer->Read(&inferred) && !inferred.error_message().empty(); }));
  EXPECT_THAT(inferred.error_message(), StartsWith("UNAUTHENTICATED"));
  EXPECT_EQ(Refusals(running, "UNAUTHENTICATED"), 1);
  ASSERT_TRUE(classify->Write(request) && classify->Read(&classified));
  EXPECT_EQ(classified.error().code(), static_cast<int>(grpc::StatusCode::UNAUTHENTICATED));
  EXPECT_EQ(Refusals(running, "UNAUTHENTICATED"), 2);
}

}  // namespace
}  // namespace vitrine::testing
