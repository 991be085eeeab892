// SPDX-License-Identifier: Apache-2.0
// Tests that ClassifyStream respects the limits of a stream.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

using Stream = grpc::ClientReaderWriter<v1::ClassifyRequest, v1::ClassifyStreamResponse>;

v1::ClassifyRequest Named(const std::string& id, const std::string& model, const std::string& image) {
  v1::ClassifyRequest request = ImageRequest(model, image);
  request.set_request_id(id);
  return request;
}

// Admission counts the expected size of an answer, not max_attention_bytes of the request.
TEST(Streams, ALargeAnswerLimitDoesNotPreventBatching) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  ServerOptions options = TestOptions(folder.path());
  options.batch.max_wait = absl::Seconds(9);
  options.executor.threads = 1;  // several executors would share the images
  constexpr int kImages = 12;
  options.batch.max_batch_images = kImages;  // the batch waits for all images
  RunningServer running(options);

  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = running.classifier().ClassifyStream(&context);
  for (int i = 0; i < kImages; ++i) {
    v1::ClassifyRequest request = Named(absl::StrCat(i), "mixed", NoiseJpeg(16, 16, i + 1));
    request.add_attention()->set_kind(v1::CLASS_TOKEN_ROW);
    request.set_max_attention_bytes(int64_t{16} << 20);
    ASSERT_TRUE(stream->Write(request));
  }
  v1::ClassifyStreamResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.response().batch().images(), kImages);
  stream->WritesDone();
  while (stream->Read(&answer)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
}

// A client writes eight requests and reads no answer. The server must compute and hold at most two answers, of about
// ten megabytes each.
TEST(Streams, UnreadAnswersAreBoundedInBytes) {
  const ScratchFolder folder;
  v1::ModelConfig config = FixedConfig();
  config.mutable_kv()->set_patch(1);  // 784 tokens
  config.mutable_kv()->set_grid_rows(28);
  config.mutable_kv()->set_grid_columns(28);
  config.mutable_kv()->set_depth(1);
  PublishModel(folder.path(), "maps", config);
  PublishModel(folder.path(), "mixed", MixedConfig());
  RunningServer running(folder.path());
  v1::ClassifyRequest request = ImageRequest("maps", NoiseJpeg(28, 28, 1));
  for (const v1::AttentionKind kind : {v1::SCORES, v1::WEIGHTS}) {
    v1::AttentionRequest& requested = *request.add_attention();
    requested.set_kind(kind);
    requested.add_heads(0);
    requested.add_heads(1);
    requested.set_encoding(v1::FLOAT32);
  }
  request.set_max_attention_bytes(16 << 20);

  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = running.classifier().ClassifyStream(&context);
  constexpr int kRequests = 8;
  std::jthread writer([&] {
    for (int i = 0; i < kRequests; ++i) {
      request.set_request_id(absl::StrCat(i));
      ASSERT_TRUE(stream->Write(request));
    }
    stream->WritesDone();
  });
  const auto answered = [&] {
    return running.Metric("vitrine_requests_total{model=\"maps\",method=\"ClassifyStream\",code=\"OK\"}");
  };
  ASSERT_TRUE(Eventually([&] { return answered() >= 1; }));
  // If the server had read further requests of the stream, it would have to answer them before the unary requests
  // below.
  v1::ClassifyResponse response;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(running.Classify(ImageRequest("mixed", NoiseJpeg(24, 24, 1)), &response).ok());
  }
  EXPECT_LE(answered(), 2) << "the server read on while nobody read its answers";
  int read = 0;
  for (v1::ClassifyStreamResponse answer; stream->Read(&answer); ++read) {
    ASSERT_TRUE(answer.has_response()) << answer.error().message();
    EXPECT_GT(answer.ByteSizeLong(), size_t{8} << 20) << "the answers are too small for this test";
  }
  EXPECT_EQ(read, kRequests);
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace vitrine::testing
