// SPDX-License-Identifier: Apache-2.0
#include "tests/server/serve/execution/execute_batch_test.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <set>
#include <stdexcept>

#include "models/attention_maps.h"
#include "models/engine/backend.h"
#include "server/observe/metrics.h"
#include "server/process/shed.h"
#include "tests/server/serve/scheduling/idle_executors.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

TEST_F(ExecuteBatchTest, MixedGridsGiveTheSameAnswersTogetherAndAlone) {
  const std::vector<std::pair<int, int>> sizes = {{16, 16}, {32, 32}, {8, 24}, {24, 8}, {16, 16}, {20, 28}};
  std::vector<Answer> together(sizes.size()), alone(sizes.size());
  std::vector<InferenceRequest> requests;
  int64_t tokens = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::string image = NoisePng(sizes[i].first, sizes[i].second, static_cast<int>(i));
    requests.push_back(ImageRequest(model_, image, together[i]));
    requests.back().request.set_request_id(std::to_string(i));
    tokens += requests.back().tokens;
    Execute(ImageRequest(model_, image, alone[i]));
  }
  Execute(BatchOf(std::move(requests), 42));
  for (size_t i = 0; i < sizes.size(); ++i) {
    ASSERT_EQ(together[i].calls, 1);
    ASSERT_EQ(Logits(together[i]).size(), 5u);
    EXPECT_EQ(Logits(together[i]), Logits(alone[i])) << "the logits depend on the batch";
    EXPECT_EQ(together[i].result->request_id(), std::to_string(i)) << "the answer belongs to another request";
    EXPECT_EQ(together[i].result->batch().images(), 6);
    EXPECT_EQ(together[i].result->batch().tokens(), tokens);
    EXPECT_EQ(together[i].result->batch().grids(), 5);
    EXPECT_EQ(together[i].result->batch().id(), 42u);
    EXPECT_GT(together[i].result->timings().decode(), 0);
    EXPECT_GT(together[i].result->timings().compute(), 0);
  }
  EXPECT_NE(Logits(together[0]), Logits(together[4])) << "different images of the same size gave the same logits";
  EXPECT_FALSE(had_image_) << "the batch kept an original image although no request has an overlay";
  EXPECT_GT(model_->cost->Predict(1, 0), absl::ZeroDuration());
}

TEST_F(ExecuteBatchTest, MapsAndFeaturesAreTheSameTogetherAndAlone) {
  const std::vector<std::pair<int, int>> sizes = {{16, 16}, {32, 32}, {8, 24}, {24, 8}, {16, 16}, {20, 28}};
  std::vector<Answer> together(sizes.size()), alone(sizes.size());
  std::vector<InferenceRequest> requests;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::string image = NoisePng(sizes[i].first, sizes[i].second, static_cast<int>(i));
    requests.push_back(ImageRequest(model_, image, together[i]));
    AskForEverything(requests.back());
    InferenceRequest one = ImageRequest(model_, image, alone[i]);
    AskForEverything(one);
    Execute(std::move(one));
  }
  Execute(BatchOf(std::move(requests)));
  std::set<std::vector<std::vector<float>>> seen;
  for (size_t i = 0; i < sizes.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_TRUE(together[i].result.ok()) << together[i].result.status();
    ASSERT_TRUE(alone[i].result.ok()) << alone[i].result.status();
    EXPECT_EQ(together[i].result->attention_size(), static_cast<int>(model_->attention.offers.size()));
    EXPECT_EQ(together[i].result->features_size(), static_cast<int>(model_->features.kinds.size()));
    EXPECT_EQ(Values(together[i].result->attention()), Values(alone[i].result->attention()));
    EXPECT_EQ(Values(together[i].result->features()), Values(alone[i].result->features()));
    seen.insert(Values(alone[i].result->attention()));
    seen.insert(Values(alone[i].result->features()));
  }
  EXPECT_EQ(seen.size(), 2 * sizes.size())
      << "two images give the same maps or features, so the test could not detect a mix-up";
}

// Requests maps for every third image and features for every fourth image. The logits of all images must have the same
// bits as without maps and features.
TEST_F(ExecuteBatchTest, MapsAndFeaturesDoNotChangeTheLogits) {
  constexpr size_t kImages = 12;
  std::vector<Answer> plain(kImages), mixed(kImages);
  std::vector<InferenceRequest> without, with;
  for (size_t i = 0; i < kImages; ++i) {
    const std::string image = NoisePng(8 + 4 * static_cast<int>(i % 5), 16, static_cast<int>(i));
    without.push_back(ImageRequest(model_, image, plain[i]));
    with.push_back(ImageRequest(model_, image, mixed[i]));
    InferenceRequest everything = ImageRequest(model_, image, mixed[i]);
    AskForEverything(everything);
    if (i % 3 == 0) with.back().attention = everything.attention;
    if (i % 4 == 0) with.back().features = everything.features;
  }
  Execute(BatchOf(std::move(without)));
  Execute(BatchOf(std::move(with)));
  for (size_t i = 0; i < kImages; ++i) {
    ASSERT_TRUE(mixed[i].result.ok()) << mixed[i].result.status();
    EXPECT_EQ(Logits(mixed[i]), Logits(plain[i])) << i;
    EXPECT_EQ(mixed[i].result->attention_size() > 0, i % 3 == 0);
    EXPECT_EQ(mixed[i].result->features_size() > 0, i % 4 == 0);
    EXPECT_EQ(mixed[i].result->batch().images(), static_cast<int>(kImages));
  }
}

// The image heights increase from request to request. If the heights determined the order, the request "two" would be
// answered first.
TEST_F(ExecuteBatchTest, RequestsAreAnsweredInTheOrderOfTheirOverlayPixels) {
  const std::vector<std::pair<const char*, int64_t>> wishes = {
      {"two", 2000}, {"none", 0}, {"one", 1000}, {"also none", 0}};
  std::vector<Answer> together(wishes.size()), alone(wishes.size());
  std::vector<std::string> made;
  const Responder responder = [&](const InferenceRequest& request, InferenceOutput output) {
    made.push_back(request.request.request_id());
    int answered = 0;
    for (const Answer& answer : together) answered += answer.calls;
    EXPECT_EQ(answered + 1, static_cast<int>(made.size())) << "each answer must be sent before the next one is made";
    return responder_(request, std::move(output));
  };
  std::vector<InferenceRequest> requests;
  for (size_t i = 0; i < wishes.size(); ++i) {
    const std::string image = NoisePng(8 + 8 * static_cast<int>(i), 16, static_cast<int>(i));
    requests.push_back(ImageRequest(model_, image, together[i]));
    requests.back().request.set_request_id(wishes[i].first);
    requests.back().overlay_pixels = wishes[i].second;
    Execute(ImageRequest(model_, image, alone[i]));
  }
  ExecuteBatch(BatchOf(std::move(requests)), {workspace_, responder, SteadyClock()});
  EXPECT_THAT(made, ::testing::ElementsAre("none", "also none", "one", "two"));
  for (size_t i = 0; i < wishes.size(); ++i) {
    EXPECT_EQ(Logits(together[i]), Logits(alone[i])) << "the answer belongs to another image";
    EXPECT_EQ(together[i].result->request_id(), wishes[i].first);
  }
}

TEST_F(ExecuteBatchTest, TheTimeOfASingleImageDeterminesItsHelpers) {
  constexpr int kIdle = 5, kRowsFor = 4;
  const std::string image = NoisePng(32, 36, 1);
  for (const double milliseconds : {0.5, 300.0}) {
    model_ = MakeLoaded("small", 3, SmallNativeConfig());
    Answer alone, helped;
    std::vector<InferenceRequest> one, other;
    one.push_back(ImageRequest(model_, image, alone));
    other.push_back(ImageRequest(model_, image, helped));
    const int64_t tokens = one[0].tokens;
    ASSERT_EQ(tokens / 12, kRowsFor);
    Execute(BatchOf(std::move(one)));
    for (int i = 0; i < 100; ++i) model_->cost->ObserveCompute(tokens, absl::Milliseconds(milliseconds));
    Scheduler scheduler({}, SteadyClock(), /*sweep=*/false);
    HelpRecord record(SteadyClock());
    const IdleExecutors idle(scheduler, kIdle);
    ExecuteBatch(BatchOf(std::move(other)), {.workspace = workspace_,
                                             .responder = responder_,
                                             .clock = SteadyClock(),
                                             .scheduler = &scheduler,
                                             .help = &record,
                                             .most_helpers = kIdle});
    idle.AwaitIdle(kIdle);
    EXPECT_EQ(idle.sent(), milliseconds < 1 ? 0 : kRowsFor - 1) << milliseconds;
    EXPECT_EQ(Logits(helped), Logits(alone)) << "the logits depend on the helpers";
  }
}

TEST_F(ExecuteBatchTest, ADamagedImageFailsOnlyItself) {
  std::string damaged = NoisePng(16, 16, 1);
  damaged[damaged.size() / 2] ^= 0x55;
  std::vector<Answer> answers(3);
  std::vector<InferenceRequest> requests;
  requests.push_back(ImageRequest(model_, NoisePng(16, 16, 2), answers[0]));
  requests.push_back(ImageRequest(model_, damaged, answers[1]));
  requests.push_back(ImageRequest(model_, NoisePng(8, 24, 3), answers[2]));
  Execute(BatchOf(std::move(requests)));
  EXPECT_TRUE(answers[0].result.ok()) << answers[0].result.status();
  EXPECT_EQ(answers[1].result.status().code(), absl::StatusCode::kInvalidArgument) << answers[1].result.status();
  EXPECT_TRUE(answers[2].result.ok()) << answers[2].result.status();
  EXPECT_EQ(answers[0].result->batch().images(), 2);
}

// Executes three requests: one is cancelled, one has expired. Only the third request is decoded and computed.
TEST_F(ExecuteBatchTest, CancelledAndExpiredRequestsAreNotDecoded) {
  Metrics metrics("");
  model_->metrics = metrics.ForModel("small");
  FakeClock clock;
  std::vector<Answer> answers(3);
  std::vector<InferenceRequest> requests = Images(answers);
  requests[0].cancelled = std::make_shared<std::atomic<bool>>(true);
  requests[1].deadline = clock.Now();
  ExecuteBatch(BatchOf(std::move(requests)), {workspace_, responder_, clock});
  EXPECT_EQ(answers[0].result.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(answers[1].result.status().code(), absl::StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(answers[2].result.ok());
  EXPECT_EQ(answers[2].result->batch().images(), 1);
  EXPECT_THAT(metrics.Text(), HasSubstr(StageCount("decode", "ok", 1)));
  EXPECT_THAT(metrics.Text(), HasSubstr(StageCount("decode", "error", 0)));
}

// A clock that advances by 1 s with each call of Now. Decoding therefore takes time.
class BusyClock : public FakeClock {
 public:
  absl::Time Now() const override {
    const_cast<BusyClock*>(this)->Advance(absl::Seconds(1));
    return FakeClock::Now();
  }
};

TEST_F(ExecuteBatchTest, ARequestThatExpiresDuringDecodingIsNotComputed) {
  BusyClock clock;
  std::vector<Answer> answers(8);
  std::vector<InferenceRequest> requests = Images(answers);
  requests[0].deadline = clock.Now() + absl::Seconds(10);
  ExecuteBatch(BatchOf(std::move(requests)), {workspace_, responder_, clock});
  EXPECT_THAT(answers[0].result.status().ToString(), HasSubstr("before the model ran"));
  ASSERT_TRUE(answers[7].result.ok()) << answers[7].result.status();
  EXPECT_EQ(answers[7].result->batch().images(), 7);
}

// Computes three requests. While the first answer is made, the second request is cancelled and the third expires.
TEST_F(ExecuteBatchTest, NoAnswerIsMadeForRequestsThatEndDuringCompute) {
  FakeClock clock;
  const auto left = std::make_shared<std::atomic<bool>>(false);
  int made = 0;
  const Responder responder = [&](const InferenceRequest& request, InferenceOutput output) {
    ++made;
    *left = true;
    clock.Advance(absl::Seconds(1));
    return responder_(request, std::move(output));
  };
  std::vector<Answer> answers(3);
  std::vector<InferenceRequest> requests = Images(answers);
  requests[1].cancelled = left;
  requests[2].deadline = clock.Now() + absl::Seconds(1);
  ExecuteBatch(BatchOf(std::move(requests)), {workspace_, responder, clock});
  ASSERT_TRUE(answers[0].result.ok()) << answers[0].result.status();
  EXPECT_EQ(answers[0].result->batch().images(), 3);
  EXPECT_EQ(answers[1].result.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(answers[2].result.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(made, 1);
  for (const Answer& answer : answers) EXPECT_EQ(answer.calls, 1);
}

TEST_F(ExecuteBatchTest, AnInternalFaultFailsTheBatchWithAFixedText) {
  std::vector<Answer> answers(2);
  std::vector<InferenceRequest> requests = Images(answers);
  for (InferenceRequest& request : requests) MakeFaulty(request);
  Execute(BatchOf(std::move(requests), 9));
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.calls, 1);
    EXPECT_EQ(answer.result.status().code(), absl::StatusCode::kInternal);
    EXPECT_EQ(std::string(answer.result.status().message()),
              "the server failed to compute batch 9; its log has the cause, and other batches are not affected");
  }
  Answer next;
  Execute(ImageRequest(model_, NoisePng(16, 16, 1), next));
  EXPECT_TRUE(next.result.ok()) << next.result.status();
}

// Records the number of images in each run of another backend.
class Counting : public Backend {
 public:
  explicit Counting(std::shared_ptr<const Backend> inner) : inner_(std::move(inner)) {}
  absl::Status Run(std::span<const engine::ImagePlanes> images, engine::Workspace& workspace, float* logits,
                   AttentionTap* attention, TokenTap* tokens) const override {
    runs.push_back(static_cast<int>(images.size()));
    return inner_->Run(images, workspace, logits, attention, tokens);
  }

  mutable std::vector<int> runs;

 private:
  const std::shared_ptr<const Backend> inner_;
};

TEST_F(ExecuteBatchTest, ImagesWithLargeAttentionMatricesAreComputedInSeveralRuns) {
  const auto counting = std::make_shared<const Counting>(model_->backend);
  model_->backend = counting;
  std::vector<Answer> apart(5), together(5);
  for (auto* answers : {&apart, &together}) {
    std::vector<InferenceRequest> requests = Images(*answers);
    for (const size_t i : {0, 1, 3}) {
      InferenceRequest everything = ImageRequest(model_, NoisePng(16, 16, 0), (*answers)[i]);
      AskForEverything(everything);
      requests[i].attention = everything.attention;
    }
    const int64_t bytes = MatrixBytes(requests[0].attention, model_->attention, requests[0].grid);
    ASSERT_GT(bytes, 0);
    BatchContext context = {workspace_, responder_, SteadyClock()};
    context.max_matrix_bytes = answers == &apart ? bytes : 3 * bytes;
    ExecuteBatch(BatchOf(std::move(requests)), context);
  }
  EXPECT_THAT(counting->runs, ::testing::ElementsAre(1, 2, 2, 5));
  for (size_t i = 0; i < apart.size(); ++i) {
    EXPECT_EQ(Logits(apart[i]), Logits(together[i])) << i;
    ASSERT_EQ(apart[i].result->attention_size() > 0, i != 2 && i != 4);
    EXPECT_EQ(Values(apart[i].result->attention()), Values(together[i].result->attention())) << i;
  }
}

// A device on which every batch fails.
class Failing : public Backend {
 public:
  explicit Failing(absl::Status error) : error_(std::move(error)) {}
  absl::Status Run(std::span<const engine::ImagePlanes> /*images*/, engine::Workspace& /*workspace*/, float* /*logits*/,
                   AttentionTap* /*attention*/, TokenTap* /*tokens*/) const override {
    return error_;
  }

 private:
  const absl::Status error_;
};

TEST_F(ExecuteBatchTest, ADeviceWithoutMemoryGivesARetryTime) {
  model_->backend = std::make_shared<const Failing>(absl::ResourceExhaustedError("no memory on the device"));
  Answer answer;
  Execute(ImageRequest(model_, NoisePng(16, 16, 1), answer));
  EXPECT_EQ(ShedReasonOf(answer.result.status()), ShedReason::kMemory) << answer.result.status();
  EXPECT_EQ(RetryAfter(answer.result.status()), absl::Seconds(1));
}

TEST_F(ExecuteBatchTest, ALostDeviceIsUnavailable) {
  model_->backend = std::make_shared<const Failing>(absl::UnavailableError("cuda:0: cuEventQuery failed"));
  Answer answer;
  Execute(ImageRequest(model_, NoisePng(16, 16, 1), answer));
  EXPECT_EQ(answer.result.status(), absl::UnavailableError("the device of this server is lost, and the server ends"));
}

TEST_F(ExecuteBatchTest, AThrowingResponderFailsEveryRequestWithAFixedText) {
  responder_ = [](const InferenceRequest&, InferenceOutput) -> absl::StatusOr<v1::ClassifyResponse> {
    throw std::runtime_error("secret path /etc");
  };
  std::vector<Answer> answers(2);
  std::vector<InferenceRequest> requests = Images(answers);
  Execute(BatchOf(std::move(requests)));
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.calls, 1);
    EXPECT_EQ(answer.result.status().code(), absl::StatusCode::kInternal);
    EXPECT_THAT(answer.result.status().ToString(), ::testing::Not(HasSubstr("secret")));
  }
}

TEST_F(ExecuteBatchTest, LogitsThatAreNotFiniteAreNeverAnswered) {
  model_ = MakeLoaded("small", 1, SmallNativeConfig(), [](std::vector<float>& weight) {
    std::fill(weight.begin(), weight.end(), std::numeric_limits<float>::quiet_NaN());
  });
  std::vector<Answer> answers(1);
  Execute(ImageRequest(model_, NoisePng(16, 16, 1), answers[0]));
  EXPECT_EQ(answers[0].result.status().code(), absl::StatusCode::kInternal);
}

TEST_F(ExecuteBatchTest, TheNullModelReadsNoPixel) {
  const ModelHandle null = MakeLoaded("null", 1, NullConfig());
  std::string damaged = NoisePng(16, 16, 1);
  damaged.resize(damaged.size() / 2);
  Answer answer;
  Execute(ImageRequest(null, damaged, answer));
  EXPECT_EQ(Logits(answer), std::vector<float>(3, 0.0f));
}

}  // namespace
}  // namespace vitrine
