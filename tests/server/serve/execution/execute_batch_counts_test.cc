// SPDX-License-Identifier: Apache-2.0
// Tests the metrics of a batch.
#include "server/observe/metrics.h"
#include "tests/server/serve/execution/execute_batch_test.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

TEST_F(ExecuteBatchTest, StagesAndBatchesAreCounted) {
  Metrics metrics("");
  model_->metrics = metrics.ForModel("small");
  std::vector<Answer> answers(2);
  std::vector<InferenceRequest> requests = Images(answers, SteadyClock().Now());
  Execute(BatchOf(std::move(requests)));
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr(StageCount("decode", "ok", 2)));
  EXPECT_THAT(text, HasSubstr(StageCount("queue", "ok", 2)));
  EXPECT_THAT(text, HasSubstr("vitrine_batch_grids_count{model=\"small\"} 1"));
  EXPECT_THAT(text, HasSubstr(StageCount("compute", "ok", 1)));
  EXPECT_THAT(text, HasSubstr("vitrine_batch_images_sum{model=\"small\"} 2"));
}

// Executes four requests. The first is answered, and the second has a damaged image. The third expires after its
// compute, and the answer of the fourth cannot be made.
TEST_F(ExecuteBatchTest, StagesOfFailedRequestsAreCounted) {
  Metrics metrics("");
  model_->metrics = metrics.ForModel("small");
  FakeClock clock;
  const Responder responder = [&](const InferenceRequest& request,
                                  InferenceOutput output) -> absl::StatusOr<v1::ClassifyResponse> {
    clock.Advance(absl::Seconds(1));
    if (request.request.request_id() == "cannot") return absl::InternalError("cannot");
    return responder_(request, std::move(output));
  };
  std::string damaged = NoisePng(16, 16, 1);
  damaged[damaged.size() / 2] ^= 0x55;
  std::vector<Answer> answers(4);
  std::vector<InferenceRequest> requests;
  for (int i = 0; i < 4; ++i) {
    requests.push_back(ImageRequest(model_, i == 1 ? damaged : NoisePng(16, 16, i), answers[i]));
    requests.back().arrival = clock.Now();
  }
  requests[2].deadline = clock.Now() + absl::Seconds(4);
  requests[3].request.set_request_id("cannot");
  clock.Advance(absl::Seconds(3));
  ExecuteBatch(BatchOf(std::move(requests)), {workspace_, responder, clock});
  EXPECT_TRUE(answers[0].result.ok()) << answers[0].result.status();
  EXPECT_EQ(answers[2].result.status().code(), absl::StatusCode::kDeadlineExceeded);
  const std::string text = metrics.Text();
  for (const char* stage : {"queue", "decode", "encode"}) EXPECT_THAT(text, HasSubstr(StageCount(stage, "ok", 1)));
  EXPECT_THAT(text, HasSubstr(StageCount("queue", "error", 3)));
  EXPECT_THAT(text,
              HasSubstr("vitrine_stage_duration_seconds_sum{model=\"small\",stage=\"queue\",outcome=\"error\"} 9\n"));
  EXPECT_THAT(text, HasSubstr(StageCount("decode", "error", 3)));
  EXPECT_THAT(text, HasSubstr(StageCount("encode", "error", 1))) << "no answer was made for the expired request";
  EXPECT_THAT(text, HasSubstr(StageCount("compute", "ok", 1)));
  EXPECT_THAT(text, HasSubstr(StageCount("compute", "error", 0)));
}

TEST_F(ExecuteBatchTest, AFailedBatchCountsAsAnErrorOfCompute) {
  Metrics metrics("");
  model_->metrics = metrics.ForModel("small");
  std::vector<Answer> answers(1);
  std::vector<InferenceRequest> requests = Images(answers);
  MakeFaulty(requests[0]);
  Execute(BatchOf(std::move(requests)));
  EXPECT_EQ(answers[0].result.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(metrics.Text(), HasSubstr(StageCount("compute", "error", 1)));
  EXPECT_THAT(metrics.Text(), HasSubstr(StageCount("compute", "ok", 0)));
}

TEST_F(ExecuteBatchTest, AProbeIsNotInTheHistogramsOfAnswers) {
  Metrics metrics("");
  model_->metrics = metrics.ForModel("small");
  model_->version_metrics = metrics.ForModel("small")->ForVersion(3);
  std::vector<Answer> answers(2);
  std::vector<InferenceRequest> requests = Images(answers, SteadyClock().Now());
  requests[0].is_probe = true;
  Execute(BatchOf(std::move(requests)));
  for (const Answer& answer : answers) EXPECT_TRUE(answer.result.ok()) << answer.result.status();
  const std::string text = metrics.Text();
  for (const char* stage : {"queue", "decode", "encode"}) {
    EXPECT_THAT(text, HasSubstr(StageCount(stage, "ok", 1)));
  }
  EXPECT_THAT(text, HasSubstr("vitrine_top1_confidence_ratio_count{model=\"small\",version=\"3\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("vitrine_batch_images_sum{model=\"small\"} 2\n")) << "the probe is part of the batch";
}

// Tests that a version's compute time includes only batches in which the server chose the version for every image. The
// canary guard compares the compute times of two versions. Only images that the server divides between the versions
// make the times comparable.
TEST_F(ExecuteBatchTest, OnlyRoutedImagesCountForTheComputeTimeOfAVersion) {
  const auto compute = [this](std::vector<bool> routed) {
    std::vector<Answer> answers(routed.size());
    std::vector<InferenceRequest> requests;
    for (size_t i = 0; i < routed.size(); ++i) {
      requests.push_back(ImageRequest(model_, NoisePng(16, 16, static_cast<int>(i)), answers[i]));
      requests.back().is_routed = routed[i];
    }
    Execute(BatchOf(std::move(requests)));
    int64_t images = 0;
    for (const ComputeTimes::OfSize& size : model_->computed->Read().sizes) images += size.images;
    return images;
  };
  EXPECT_EQ(compute({false}), 0);
  EXPECT_EQ(compute({true, false}), 0);
  EXPECT_EQ(compute({true, true}), 2);
}

}  // namespace
}  // namespace vitrine
