// SPDX-License-Identifier: Apache-2.0
// Tests ClassifyStream: answers are matched by id, and limits on a stream are kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;
using Stream = grpc::ClientReaderWriter<v1::ClassifyRequest, v1::ClassifyStreamResponse>;

v1::ClassifyRequest Named(const std::string& id, const std::string& model, const std::string& image) {
  v1::ClassifyRequest request = ImageRequest(model, image);
  request.set_request_id(id);
  return request;
}

TEST(Streams, AnswersComeAsTheyAreReadyAndMatchById) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  PublishModel(folder.path(), "slow", SlowConfig());
  ServerOptions options = TestOptions(folder.path());
  options.executor.threads = 2;
  RunningServer running(options);
  const WeightedModel model = HashedModel(MixedConfig());

  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = running.classifier().ClassifyStream(&context);
  // The slow image is sent first and answered last. Far more images follow it than may be in flight.
  ASSERT_TRUE(stream->Write(Named("slow", "slow", SlowImage())));
  constexpr int kImages = 300;
  std::jthread writer([&] {
    for (int i = 0; i < kImages; ++i) {
      ASSERT_TRUE(stream->Write(Named(absl::StrCat(i), "mixed", NoiseJpeg(16 + 4 * (i % 5), 16, i + 1))));
    }
    stream->WritesDone();
  });
  std::vector<std::string> order;
  for (v1::ClassifyStreamResponse answer; stream->Read(&answer);) {
    ASSERT_TRUE(answer.has_response()) << answer.error().message();
    EXPECT_EQ(answer.response().request_id(), answer.request_id());
    order.push_back(answer.request_id());
    int i = 0;
    if (!absl::SimpleAtoi(answer.request_id(), &i) || i % 10 != 0) continue;
    const std::vector<float> alone = LogitsAlone(model, NoiseJpeg(16 + 4 * (i % 5), 16, i + 1));
    const v1::Prediction& best = answer.response().predictions(0);
    EXPECT_NEAR(best.logit(), alone[best.index()], 1e-4) << "answer " << i << " belongs to another image";
  }
  writer.join();
  const grpc::Status status = stream->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(order.size(), kImages + 1u);
  EXPECT_EQ(std::set<std::string>(order.begin(), order.end()).size(), order.size()) << "an answer came twice";
  EXPECT_NE(order.front(), "slow") << "a quick image waited for a slow one";
}

TEST(Streams, ARequestMayHaveATimeLimitOfItsOwn) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  RunningServer running(folder.path());
  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = running.classifier().ClassifyStream(&context);
  const auto ask = [&](float time_limit) {
    v1::ClassifyRequest request = Named("one", "mixed", NoiseJpeg(24, 24, 1));
    request.set_time_limit(time_limit);
    EXPECT_TRUE(stream->Write(request));
    v1::ClassifyStreamResponse answer;
    EXPECT_TRUE(stream->Read(&answer));
    return answer;
  };
  EXPECT_TRUE(ask(60).has_response());
  const double computed = running.Metric("vitrine_batch_images_sum{model=\"mixed\"}");
  const v1::ClassifyStreamResponse late = ask(1e-9f);
  EXPECT_EQ(late.error().code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(late.error().message(), HasSubstr("nothing was computed"));
  EXPECT_EQ(running.Metric("vitrine_batch_images_sum{model=\"mixed\"}"), computed);
  for (const float wrong : {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(ask(wrong).error().code(), grpc::StatusCode::INVALID_ARGUMENT) << wrong;
  }
  EXPECT_TRUE(ask(std::numeric_limits<float>::infinity()).has_response()) << "and the stream goes on";
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

// Admission counts the expected size of the answers, not the limit in the request.
TEST(Streams, AGenerousAllowanceDoesNotKeepRequestsApart) {
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

// For a client that writes but does not read, the server must hold one answer of ten megabytes, not sixty-four.
TEST(Streams, AnswersThatNobodyReadsAreBoundedInBytes) {
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
  // If the server had read further requests of the stream, it would answer them before these.
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
