// SPDX-License-Identifier: Apache-2.0
// Tests that ModelStreamInfer can be cancelled with several requests in flight.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "inference/grpc_service.grpc.pb.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

using Stream = grpc::ClientReaderWriter<inference::ModelInferRequest, inference::ModelStreamInferResponse>;

inference::ModelInferRequest Named(const std::string& id, const std::string& model, const std::string& image) {
  inference::ModelInferRequest request;
  request.set_id(id);
  request.set_model_name(model);
  auto& input = *request.add_inputs();
  input.set_name("image");
  input.set_datatype("BYTES");
  input.add_shape(1);
  input.mutable_contents()->add_bytes_contents(image);
  return request;
}

class OipStream : public ::testing::Test {
 protected:
  OipStream() {
    PublishModel(folder_.path(), "mixed", MixedConfig());
    PublishModel(folder_.path(), "slow", SlowConfig());
    ServerOptions options = TestOptions(folder_.path());
    options.executor.threads = 1;
    running_ = std::make_unique<RunningServer>(options);
    stream_ = inference::GRPCInferenceService::NewStub(running_->channel())->ModelStreamInfer(&context_);
  }

  double InFlight() const { return running_->Metric("vitrine_in_flight "); }

  const ScratchFolder folder_;
  std::unique_ptr<RunningServer> running_;
  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(OipStream, TheAnswerIsMarkedAsTheLastForWhoAsks) {
  for (const char* image : {"", "no image"}) {
    for (const bool asks : {true, false}) {
      auto request = Named("one", "mixed", *image == '\0' ? NoiseJpeg(16, 16, 1) : image);
      if (asks) (*request.mutable_parameters())["triton_enable_empty_final_response"].set_bool_param(true);
      ASSERT_TRUE(stream_->Write(request));
      inference::ModelStreamInferResponse answer;
      ASSERT_TRUE(stream_->Read(&answer));
      const auto& parameters = answer.infer_response().parameters();
      ASSERT_EQ(parameters.contains("triton_final_response"), asks) << answer.DebugString();
      if (asks) {
        EXPECT_TRUE(parameters.at("triton_final_response").bool_param());
      }
    }
  }
}

TEST_F(OipStream, SixtyFourAreInFlightAtMostAndACancelFreesThem) {
  std::jthread writer([&] {
    for (int i = 0; i < 100 && stream_->Write(Named(absl::StrCat(i), "slow", SlowImage())); ++i) {
    }
  });
  EXPECT_TRUE(Eventually([&] { return InFlight() >= 30; })) << "one request at a time";
  EXPECT_LE(InFlight(), 64);
  context_.TryCancel();
  writer.join();
  EXPECT_EQ(stream_->Finish().error_code(), grpc::StatusCode::CANCELLED);
  // Computing thirty images would take far longer than this timeout.
  EXPECT_TRUE(Eventually([&] { return InFlight() == 0; }, absl::Seconds(10)));
  const Server::Counts counts = running_->server().Drain();
  EXPECT_GE(counts.accepted, 30);
  EXPECT_EQ(counts.answered, counts.accepted);
}

}  // namespace
}  // namespace vitrine::testing
