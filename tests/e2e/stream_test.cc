// SPDX-License-Identifier: Apache-2.0
// ClassifyStream: answers matched by id, errors in-band, bounded, cancelled, ended by draining.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "models/reference/model.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;
using Stream = grpc::ClientReaderWriter<v1::ClassifyRequest, v1::ClassifyStreamResponse>;

v1::ClassifyRequest Named(const std::string& id, const std::string& model, const std::string& picture) {
  v1::ClassifyRequest request = PictureRequest(model, picture);
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
  const std::unique_ptr<Model> model = PublishedModel(MixedConfig());

  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = running.classifier().ClassifyStream(&context);
  // The slow one goes first and comes last; far more than may be in flight follow it.
  ASSERT_TRUE(stream->Write(Named("slow", "slow", SlowPicture())));
  constexpr int kPictures = 300;
  std::jthread writer([&] {
    for (int i = 0; i < kPictures; ++i) {
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
    const std::vector<float> alone = LogitsAlone(*model, NoiseJpeg(16 + 4 * (i % 5), 16, i + 1));
    const v1::Prediction& best = answer.response().predictions(0);
    EXPECT_NEAR(best.logit(), alone[best.index()], 1e-4) << "answer " << i << " belongs to another picture";
  }
  writer.join();
  const grpc::Status status = stream->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(order.size(), kPictures + 1u);
  EXPECT_EQ(std::set<std::string>(order.begin(), order.end()).size(), order.size()) << "an answer came twice";
  EXPECT_NE(order.front(), "slow") << "a quick picture waited for a slow one";
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

TEST(Streams, ARefusedRequestIsAnsweredInItsPlaceAndTheStreamGoesOn) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  RunningServer running(folder.path());
  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = running.classifier().ClassifyStream(&context);
  const std::string picture = NoiseJpeg(24, 24, 1);
  ASSERT_TRUE(stream->Write(Named("bad picture", "mixed", "not a picture")));
  ASSERT_TRUE(stream->Write(Named("bad model", "cats", picture)));
  ASSERT_TRUE(stream->Write(Named("", "mixed", picture)));
  ASSERT_TRUE(stream->Write(Named("good", "mixed", picture)));
  std::map<std::string, v1::ClassifyStreamResponse> answers;
  for (int i = 0; i < 4; ++i) {
    v1::ClassifyStreamResponse answer;
    ASSERT_TRUE(stream->Read(&answer));
    answers[answer.request_id()] = answer;
  }
  EXPECT_EQ(answers["bad picture"].error().code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(answers["bad model"].error().code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(answers[""].error().code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(answers[""].error().message(), HasSubstr("request_id is empty"));
  EXPECT_TRUE(answers["good"].has_response());
  // An id is free again once it is answered.
  ASSERT_TRUE(stream->Write(Named("good", "mixed", picture)));
  v1::ClassifyStreamResponse again;
  ASSERT_TRUE(stream->Read(&again));
  EXPECT_TRUE(again.has_response()) << again.error().message();
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&again));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST(Streams, AnEndlessIdIsRefusedAndNotEchoed) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  RunningServer running(folder.path());
  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = running.classifier().ClassifyStream(&context);
  ASSERT_TRUE(stream->Write(Named(std::string(1 << 20, 'x'), "mixed", NoiseJpeg(24, 24, 1))));
  v1::ClassifyStreamResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.request_id(), "");
  EXPECT_EQ(answer.error().code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(answer.error().message(), HasSubstr("request_id is 1048576 bytes long"));
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST(Streams, AnIdInFlightTwiceIsRefused) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "slow", VerySlowConfig());
  RunningServer running(folder.path());
  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = running.classifier().ClassifyStream(&context);
  const v1::ClassifyRequest request = Named("twin", "slow", SlowPicture());
  ASSERT_TRUE(stream->Write(request));
  ASSERT_TRUE(stream->Write(request));
  stream->WritesDone();
  v1::ClassifyStreamResponse first, second;
  ASSERT_TRUE(stream->Read(&first));
  ASSERT_TRUE(stream->Read(&second));
  EXPECT_EQ(first.error().code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(first.error().message(), HasSubstr("\"twin\" is in flight"));
  EXPECT_TRUE(second.has_response());
  EXPECT_TRUE(stream->Finish().ok());
}

TEST(Streams, ACancelledStreamFreesWhatItHeld) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "slow", SlowConfig());
  ServerOptions options = TestOptions(folder.path());
  options.executor.threads = 1;
  RunningServer running(options);
  {
    grpc::ClientContext context;
    const std::unique_ptr<Stream> stream = running.classifier().ClassifyStream(&context);
    for (int i = 0; i < 60; ++i) ASSERT_TRUE(stream->Write(Named(absl::StrCat(i), "slow", SlowPicture())));
    ASSERT_TRUE(Eventually([&] { return running.Metric("vitrine_in_flight ") >= 30; }));
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  // Far less than the seconds that thirty of them take.
  EXPECT_TRUE(Eventually([&] { return running.Metric("vitrine_in_flight ") == 0; }, absl::Seconds(10)));
  EXPECT_GT(running.Metric("vitrine_requests_total{model=\"slow\",method=\"ClassifyStream\",code=\"CANCELLED\"}"), 20);
  const Server::Counts counts = running.server().Drain();
  EXPECT_GE(counts.accepted, 30);
  EXPECT_EQ(counts.answered, counts.accepted);
}

// A client that writes and does not read makes the server hold one answer of ten megabytes, not sixty-four.
// The expected size of the answers counts, not the limit in the request.
TEST(Streams, AGenerousAllowanceDoesNotKeepRequestsApart) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  ServerOptions options = TestOptions(folder.path());
  options.batch.max_wait = absl::Seconds(9);
  options.executor.threads = 1;  // several would share the batch
  constexpr int kPictures = 12;
  options.batch.max_batch_images = kPictures;  // the batch waits for all of them
  RunningServer running(options);

  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = running.classifier().ClassifyStream(&context);
  for (int i = 0; i < kPictures; ++i) {
    v1::ClassifyRequest request = Named(absl::StrCat(i), "mixed", NoiseJpeg(16, 16, i + 1));
    request.add_attention()->set_kind(v1::CLASS_TOKEN_ROW);
    request.set_max_attention_bytes(int64_t{16} << 20);
    ASSERT_TRUE(stream->Write(request));
  }
  v1::ClassifyStreamResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.response().batch().images(), kPictures);
  stream->WritesDone();
  while (stream->Read(&answer)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
}

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
  v1::ClassifyRequest request = PictureRequest("maps", NoiseJpeg(28, 28, 1));
  for (const v1::AttentionKind kind : {v1::SCORES, v1::WEIGHTS}) {
    v1::AttentionRequest& wish = *request.add_attention();
    wish.set_kind(kind);
    wish.add_heads(0);
    wish.add_heads(1);
    wish.set_encoding(v1::FLOAT32);
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
  // Requests of the stream that the server has already read would be answered before these.
  v1::ClassifyResponse response;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(running.Classify(PictureRequest("mixed", NoiseJpeg(24, 24, 1)), &response).ok());
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

TEST(Streams, DrainingAnswersWhatWasReadAndEndsTheStream) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  RunningServer running(folder.path());
  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = running.classifier().ClassifyStream(&context);
  ASSERT_TRUE(stream->Write(Named("one", "mixed", NoiseJpeg(24, 24, 1))));
  v1::ClassifyStreamResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  std::jthread drain([&] { running.server().Drain(); });
  EXPECT_FALSE(stream->Read(&answer)) << "an idle stream must end";
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("draining"));
  drain.join();
}

}  // namespace
}  // namespace vitrine::testing
