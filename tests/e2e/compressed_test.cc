// SPDX-License-Identifier: Apache-2.0
// Clients that compress their messages with gzip are answered as others are, within the same limits.
#include <gmock/gmock.h>
#include <grpcpp/support/channel_arguments.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "inference/grpc_service.grpc.pb.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kMostBytes = int64_t{1} << 20;

// Returns pixels of one colour, which gzip compresses to a hundredth.
v1::ClassifyRequest PlainPicture(int side) {
  v1::ClassifyRequest request;
  request.set_model("mixed");
  v1::RawTensor& tensor = *request.mutable_tensor();
  tensor.set_data_type(v1::RawTensor::DATA_UINT8);
  tensor.set_height(side);
  tensor.set_width(side);
  tensor.set_channels(3);
  tensor.set_data(std::string(static_cast<size_t>(side) * side * 3, '\7'));
  return request;
}

inference::ModelInferRequest PlainPixels(int64_t side) {
  inference::ModelInferRequest request;
  request.set_model_name("mixed");
  auto& input = *request.add_inputs();
  input.set_name("image");
  input.set_datatype("UINT8");
  for (const int64_t size : {int64_t{1}, side, side, int64_t{3}}) input.add_shape(size);
  request.add_raw_input_contents(std::string(static_cast<size_t>(side * side * 3), '\7'));
  return request;
}

class Compressed : public ::testing::Test {
 protected:
  Compressed() {
    PublishModel(folder_.path(), "mixed", MixedConfig());
    ServerOptions options = TestOptions(folder_.path());
    options.rpc.max_message_bytes = kMostBytes;
    running_ = std::make_unique<RunningServer>(options);
    grpc::ChannelArguments arguments;
    arguments.SetCompressionAlgorithm(GRPC_COMPRESS_GZIP);
    channel_ = grpc::CreateCustomChannel(running_->server().address(), grpc::InsecureChannelCredentials(), arguments);
  }

  static void Limit(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  }

  const ScratchFolder folder_;
  std::unique_ptr<RunningServer> running_;
  std::shared_ptr<grpc::Channel> channel_;  // whose messages are compressed
};

TEST_F(Compressed, AnswersAreThoseOfPlainMessages) {
  const auto classifier = v1::Classifier::NewStub(channel_);
  v1::ClassifyResponse plain, compressed;
  ASSERT_TRUE(running_->Classify(PlainPicture(32), &plain).ok());
  {
    grpc::ClientContext context;
    Limit(context);
    const grpc::Status status = classifier->Classify(&context, PlainPicture(32), &compressed);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(compressed.predictions(0).ShortDebugString(), plain.predictions(0).ShortDebugString());
  }
  grpc::ClientContext context;
  Limit(context);
  const auto stream = classifier->ClassifyStream(&context);
  for (const char* id : {"a", "b"}) {
    v1::ClassifyRequest request = PlainPicture(32);
    request.set_request_id(id);
    ASSERT_TRUE(stream->Write(request));
    v1::ClassifyStreamResponse response;
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.request_id(), id);
    ASSERT_TRUE(response.has_response()) << response.ShortDebugString();
    EXPECT_EQ(response.response().predictions(0).ShortDebugString(), plain.predictions(0).ShortDebugString());
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(Compressed, TheOpenInferenceProtocolTakesThemToo) {
  const auto stub = inference::GRPCInferenceService::NewStub(channel_);
  {
    grpc::ClientContext context;
    Limit(context);
    inference::ModelInferResponse response;
    const grpc::Status status = stub->ModelInfer(&context, PlainPixels(32), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_GT(response.outputs_size(), 0);
  }
  grpc::ClientContext context;
  Limit(context);
  const auto stream = stub->ModelStreamInfer(&context);
  ASSERT_TRUE(stream->Write(PlainPixels(32)));
  inference::ModelStreamInferResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.error_message(), "");
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

// A long name of one letter shrinks, most requests without a picture do not.
TEST_F(Compressed, RequestsWithoutAPictureAreReadToo) {
  v1::GetModelRequest request;
  request.set_model(std::string(64, 'x'));
  v1::ModelVersion response;
  grpc::ClientContext context;
  Limit(context);
  const grpc::Status status = v1::Registry::NewStub(channel_)->GetModel(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("xxx"));
}

TEST_F(Compressed, OneThatUnfoldsBeyondTheLimitIsRefusedAndTheStreamGoesOn) {
  const auto classifier = v1::Classifier::NewStub(channel_);
  const v1::ClassifyRequest bomb = PlainPicture(2048);  // 12 MiB, of which some 12 KiB cross the wire
  const auto sentence = AllOf(HasSubstr("unfold"), HasSubstr("at most"));
  {
    grpc::ClientContext context;
    Limit(context);
    v1::ClassifyResponse response;
    const grpc::Status status = classifier->Classify(&context, bomb, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(status.error_message(), sentence);
  }
  grpc::ClientContext context;
  Limit(context);
  const auto stream = classifier->ClassifyStream(&context);
  v1::ClassifyStreamResponse response;
  ASSERT_TRUE(stream->Write(bomb));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.error().code(), static_cast<int>(grpc::StatusCode::RESOURCE_EXHAUSTED));
  EXPECT_THAT(response.error().message(), sentence);
  v1::ClassifyRequest good = PlainPicture(32);
  good.set_request_id("good");
  ASSERT_TRUE(stream->Write(good));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_TRUE(response.has_response()) << response.ShortDebugString();
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

// A message of a few hundred bytes makes the server decompress at most 64 KiB before authentication.
TEST_F(Compressed, OneThatShrankBeyondReasonIsRefusedBelowTheLimitToo) {
  grpc::ClientContext context;
  Limit(context);
  v1::ClassifyResponse response;
  const auto classifier = v1::Classifier::NewStub(channel_);
  const grpc::Status status = classifier->Classify(&context, PlainPicture(512), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr("unfold to 786"), HasSubstr("at most 65536")));
  v1::GetModelRequest names;
  names.set_model(std::string(size_t{100} << 10, 'x'));
  v1::ModelVersion version;
  grpc::ClientContext another;
  Limit(another);
  EXPECT_EQ(v1::Registry::NewStub(channel_)->GetModel(&another, names, &version).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace vitrine::testing
