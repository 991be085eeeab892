// SPDX-License-Identifier: Apache-2.0
// Tests a stream of messages that the client compresses with gzip.
#include <gmock/gmock.h>
#include <grpcpp/support/channel_arguments.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Returns an image of one colour, which gzip compresses to a hundredth.
v1::ClassifyRequest PlainImage(int side) {
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

TEST(Compressed, OneThatUnfoldsBeyondTheLimitIsRefusedAndTheStreamGoesOn) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  ServerOptions options = TestOptions(folder.path());
  options.rpc.max_message_bytes = int64_t{1} << 20;
  RunningServer running(options);
  grpc::ChannelArguments arguments;
  arguments.SetCompressionAlgorithm(GRPC_COMPRESS_GZIP);
  const auto classifier = v1::Classifier::NewStub(
      grpc::CreateCustomChannel(running.server().address(), grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  const auto stream = classifier->ClassifyStream(&context);
  v1::ClassifyStreamResponse response;
  ASSERT_TRUE(stream->Write(PlainImage(2048)));  // 12 MiB, of which some 12 KiB cross the wire
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.error().code(), static_cast<int>(grpc::StatusCode::RESOURCE_EXHAUSTED));
  EXPECT_THAT(response.error().message(), AllOf(HasSubstr("decompress"), HasSubstr("at most")));
  v1::ClassifyRequest good = PlainImage(32);
  good.set_request_id("good");
  ASSERT_TRUE(stream->Write(good));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_TRUE(response.has_response()) << response.ShortDebugString();
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace vitrine::testing
