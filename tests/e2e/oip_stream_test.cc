// SPDX-License-Identifier: Apache-2.0
// ModelStreamInfer: several requests in flight, answers in their order, cancelled, ended by draining.
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

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Stream = grpc::ClientReaderWriter<inference::ModelInferRequest, inference::ModelStreamInferResponse>;

inference::ModelInferRequest Named(const std::string& id, const std::string& model, const std::string& picture) {
  inference::ModelInferRequest request;
  request.set_id(id);
  request.set_model_name(model);
  auto& input = *request.add_inputs();
  input.set_name("image");
  input.set_datatype("BYTES");
  input.add_shape(1);
  input.mutable_contents()->add_bytes_contents(picture);
  return request;
}

class OipStream : public ::testing::Test {
 protected:
  OipStream() {
    PublishModel(folder_.path(), "mixed", MixedConfig());
    PublishModel(folder_.path(), "slow", SlowConfig());
    ServerOptions options = TestOptions(folder_.path());
    options.executor.threads = 1;
    options.drain_deadline = absl::Minutes(5);  // eight slow ones one by one, wherever
    running_ = std::make_unique<RunningServer>(options);
    stream_ = inference::GRPCInferenceService::NewStub(running_->channel())->ModelStreamInfer(&context_);
  }

  double InFlight() const { return running_->Metric("vitrine_in_flight "); }
  void WriteSlow(int requests) {
    for (int i = 0; i < requests; ++i) ASSERT_TRUE(stream_->Write(Named(absl::StrCat(i), "slow", SlowPicture())));
  }

  const ScratchFolder folder_;
  std::unique_ptr<RunningServer> running_;
  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(OipStream, AnswersComeInTheOrderOfTheRequests) {
  // Answers that are ready earlier (a rejected and a quick request) wait for the slow one before them.
  ASSERT_TRUE(stream_->Write(Named("slow", "slow", SlowPicture())));
  ASSERT_TRUE(stream_->Write(Named("refused", "mixed", "no picture")));
  ASSERT_TRUE(stream_->Write(Named("quick", "mixed", NoiseJpeg(16, 16, 1))));
  std::jthread writer([&] {
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(stream_->Write(Named(absl::StrCat(i), "mixed", NoiseJpeg(16, 16, 1))));
    }
    stream_->WritesDone();
  });
  std::vector<inference::ModelStreamInferResponse> answers;
  for (inference::ModelStreamInferResponse answer; stream_->Read(&answer);) answers.push_back(answer);
  writer.join();
  EXPECT_TRUE(stream_->Finish().ok());
  ASSERT_THAT(answers, SizeIs(203));
  EXPECT_EQ(answers[0].infer_response().id(), "slow");
  EXPECT_EQ(answers[1].infer_response().id(), "refused");
  EXPECT_THAT(answers[1].error_message(), StartsWith("INVALID_ARGUMENT"));
  EXPECT_EQ(answers[2].infer_response().id(), "quick");
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(answers[i + 3].infer_response().id(), absl::StrCat(i));
    EXPECT_EQ(answers[i + 3].error_message(), "");
  }
}

TEST_F(OipStream, TheAnswerIsMarkedAsTheLastForWhoAsks) {
  for (const char* picture : {"", "no picture"}) {
    for (const bool asks : {true, false}) {
      auto request = Named("one", "mixed", *picture == '\0' ? NoiseJpeg(16, 16, 1) : picture);
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
    for (int i = 0; i < 100 && stream_->Write(Named(absl::StrCat(i), "slow", SlowPicture())); ++i) {
    }
  });
  EXPECT_TRUE(Eventually([&] { return InFlight() >= 30; })) << "one request at a time";
  EXPECT_LE(InFlight(), 64);
  context_.TryCancel();
  writer.join();
  EXPECT_EQ(stream_->Finish().error_code(), grpc::StatusCode::CANCELLED);
  // Far less than the seconds that thirty of them take.
  EXPECT_TRUE(Eventually([&] { return InFlight() == 0; }, absl::Seconds(10)));
  const Server::Counts counts = running_->server().Drain();
  EXPECT_GE(counts.accepted, 30);
  EXPECT_EQ(counts.answered, counts.accepted);
}

TEST_F(OipStream, DrainingAnswersWhatWasReadAndEndsTheStream) {
  WriteSlow(8);
  ASSERT_TRUE(Eventually([&] { return InFlight() >= 4; })) << "one request at a time";
  inference::ModelStreamInferResponse answer;
  ASSERT_TRUE(stream_->Read(&answer));
  Server::Counts counts;
  std::jthread drain([&] { counts = running_->server().Drain(); });
  int answered = 1, refused = 0;
  while (stream_->Read(&answer)) {
    EXPECT_EQ(answer.infer_response().id(), absl::StrCat(answered++));
    if (answer.error_message().empty()) continue;
    EXPECT_THAT(answer.error_message(), StartsWith("UNAVAILABLE"));
    ++refused;
  }
  EXPECT_GE(answered - refused, 4);
  EXPECT_LE(refused, 1) << "one may have been on its way";
  const grpc::Status status = stream_->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("draining"));
  drain.join();
  EXPECT_EQ(counts.accepted, answered);
  EXPECT_EQ(counts.answered, answered);
}

// Sixty-four answers may wait for a client that does not read.
TEST_F(OipStream, AnEndlessIdIsRefusedAndNotEchoed) {
  ASSERT_TRUE(stream_->Write(Named(std::string(1 << 20, 'i'), "mixed", NoiseJpeg(16, 16, 1))));
  inference::ModelStreamInferResponse answer;
  ASSERT_TRUE(stream_->Read(&answer));
  EXPECT_THAT(answer.error_message(), StartsWith("INVALID_ARGUMENT"));
  EXPECT_TRUE(answer.infer_response().id().empty());
}

}  // namespace
}  // namespace vitrine::testing
