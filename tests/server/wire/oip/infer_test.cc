// SPDX-License-Identifier: Apache-2.0
// Tests a call with several images in the service: its metrics and its resources.
#include "server/wire/oip/infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/process/shed.h"
#include "tests/server/registry/fake_repository.h"
#include "tests/server/small_models.h"
#include "tests/server/wire/oip/infer_request.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

inference::ModelInferRequest PixelsRequest(int images) {
  return testing::Request("UINT8", {images, 8, 8, 3}, std::string(static_cast<size_t>(images) * 8 * 8 * 3, 'x'));
}

class InferTest : public ::testing::Test {
 protected:
  InferTest() {
    files_.Add("m", 1);
    model_->metrics = metrics_.ForModel("m");
    registry_.Poll();
  }

  // Makes a call. Its answer is stored in answer_, and its resources are stored in held_.
  void Ask(int images, Caller caller = {}) {
    held_ = std::make_shared<AnswerResources>(service_.ledger());
    vitrine::Infer(service_, testing::Received(PixelsRequest(images)),
                   {.caller = std::move(caller), .method = Method::kModelInfer, .cancelled = cancelled_, .held = held_},
                   [this](absl::StatusOr<inference::ModelInferResponse> answer) { answer_ = std::move(answer); });
  }

  // Ends the next request in the queue, as an executor would.
  void End(absl::StatusOr<v1::ClassifyResponse> answer) {
    std::optional<Batch> batch = scheduler_.NextBatch();
    ASSERT_EQ(batch->requests.size(), 1u);
    batch->requests.front()->Finish(std::move(answer));
  }

  static v1::ClassifyResponse Right() {
    v1::ClassifyResponse response;
    for (int i = 0; i < 5; ++i) response.add_predictions()->set_index(i);
    return response;
  }

  double Counted(const std::string& code) const {
    const std::string text = metrics_.Text();
    const std::string name = "vitrine_requests_total{model=\"m\",method=\"ModelInfer\",code=\"" + code + "\"} ";
    const size_t at = text.find(name);
    return at == std::string::npos ? 0 : std::stod(text.substr(at + name.size()));
  }

  FakeRepository files_;
  FakeClock clock_;
  Metrics metrics_{"1"};
  const std::shared_ptr<LoadedModel> model_ = MakeLoaded("m", 1, SmallNativeConfig());
  Registry registry_{{.root = files_.root(), .serving_config = "", .admin_state = ""},
                     [this](const VersionId&) { return ModelHandle(model_); },
                     clock_};
  Admission admission_{{.max_requests = 8, .max_bytes = 1600}, clock_};
  Scheduler scheduler_{{.max_batch_images = 1}, clock_, /*sweep=*/false};
  ClassifyService service_{registry_, admission_, scheduler_, metrics_, clock_};
  const CancelFlag cancelled_ = std::make_shared<std::atomic<bool>>(false);
  absl::StatusOr<inference::ModelInferResponse> answer_ = absl::UnknownError("no answer yet");
  std::shared_ptr<AnswerResources> held_;
};

// Tests that only requests without a version are routed by traffic shares. Other requests must not count in the
// comparison with a canary.
TEST_F(InferTest, OnlyRequestsWithoutAVersionAreRouted) {
  for (const char* version : {"", "1"}) {
    inference::ModelInferRequest request = PixelsRequest(2);
    request.set_model_version(version);
    vitrine::Infer(service_, testing::Received(request), {.method = Method::kModelInfer, .cancelled = cancelled_},
                   [this](absl::StatusOr<inference::ModelInferResponse> answer) { answer_ = std::move(answer); });
    for (int i = 0; i < 2; ++i) {
      std::optional<Batch> batch = scheduler_.NextBatch();
      EXPECT_EQ(batch->requests.front()->is_routed, std::string(version).empty());
      batch->requests.front()->Finish(Right());
    }
    EXPECT_TRUE(answer_.ok()) << answer_.status();
  }
}

TEST_F(InferTest, TheFirstImageIsAdmittedForAllImages) {
  Ask(4);
  for (int image = 0; image < 4; ++image) {
    std::optional<Batch> batch = scheduler_.NextBatch();
    EXPECT_EQ(batch->requests.front()->is_first_of_call, image == 0);
    EXPECT_EQ(batch->requests.front()->images_behind, 3 - image);
    batch->requests.front()->Finish(Right());
  }
  EXPECT_TRUE(answer_.ok()) << answer_.status();
}

TEST_F(InferTest, TheErrorNamesTheDamagedImage) {
  Ask(3);
  std::optional<Batch> first = scheduler_.NextBatch(), second = scheduler_.NextBatch(), third = scheduler_.NextBatch();
  absl::Status damaged = absl::InvalidArgumentError("the JPEG is damaged");
  damaged.SetPayload("type", absl::Cord("kept"));
  third->requests.front()->Finish(damaged);
  first->requests.front()->Finish(Right());
  second->requests.front()->Finish(Right());
  EXPECT_EQ(std::string(answer_.status().message()), "in element 2 the JPEG is damaged");
  EXPECT_EQ(answer_.status().GetPayload("type"), absl::Cord("kept"));
}

TEST_F(InferTest, TheOtherImagesOfAFailedCallCountAsAborted) {
  Ask(4);
  End(absl::InvalidArgumentError("the JPEG is damaged"));
  scheduler_.Sweep();
  EXPECT_EQ(answer_.status(), absl::InvalidArgumentError("in element 0 the JPEG is damaged"))
      << "the first error is the answer";
  EXPECT_EQ(held_->requests(), 4);
  EXPECT_EQ(service_.ledger().in_flight(), 4) << "the requests are in flight until the error is sent";
  EXPECT_EQ(admission_.load().computing, 0);
  held_ = nullptr;
  EXPECT_EQ(service_.ledger().in_flight(), 0);
  EXPECT_EQ(Counted("INVALID_ARGUMENT"), 1);
  EXPECT_EQ(Counted("ABORTED"), 3);
  EXPECT_EQ(Counted("CANCELLED"), 0);
  EXPECT_THAT(metrics_.Text(), HasSubstr("vitrine_requests_cancelled_total{model=\"m\",stage=\"queue\"} 0\n"));
  EXPECT_EQ(admission_.load().requests, 0);
}

TEST_F(InferTest, ImagesOfAClientThatLeftCountAsCancelled) {
  Ask(4);
  cancelled_->store(true);
  scheduler_.Sweep();
  EXPECT_TRUE(absl::IsCancelled(answer_.status()));
  EXPECT_EQ(Counted("CANCELLED"), 4);
  EXPECT_EQ(Counted("ABORTED"), 0);
  EXPECT_THAT(metrics_.Text(), HasSubstr("vitrine_requests_cancelled_total{model=\"m\",stage=\"queue\"} 4\n"));
}

// Tests that dropped images do not count for the quota. Otherwise, a client that retries after the delay in the error
// would use up its quota.
TEST_F(InferTest, DroppedImagesDoNotCountForTheQuota) {
  const Caller caller = {.quota = std::make_shared<CallerQuota>(CallerQuota{.requests_per_second = 1, .burst = 4})};
  Ask(2, caller);
  End(Right());
  End(Right());
  ASSERT_TRUE(answer_.ok()) << answer_.status();
  Ask(4, caller);
  EXPECT_THAT(metrics_.Text(), HasSubstr("vitrine_requests_shed_total{model=\"unknown\",reason=\"quota\"} 1\n"))
      << "the third image is rejected, because the quota has two left";
  EXPECT_EQ(Counted("ABORTED"), 1) << "the fourth image is dropped";
  scheduler_.Sweep();
  EXPECT_EQ(ShedReasonOf(answer_.status()), ShedReason::kQuota);
  EXPECT_TRUE(RetryAfter(answer_.status()).has_value()) << "the full burst would admit the call";
  EXPECT_EQ(Counted("ABORTED"), 3);
  Ask(2, caller);
  End(Right());
  End(Right());
  EXPECT_TRUE(answer_.ok()) << answer_.status();
}

TEST_F(InferTest, ATooLargeCallHasNoRetryTime) {
  const auto refused = [&](int images, const Caller& caller, const std::string& limit) {
    Ask(images, caller);
    EXPECT_TRUE(absl::IsResourceExhausted(answer_.status())) << answer_.status();
    EXPECT_FALSE(RetryAfter(answer_.status()).has_value()) << answer_.status();
    EXPECT_THAT(std::string(answer_.status().message()), AllOf(HasSubstr(limit), HasSubstr("send fewer images")));
    EXPECT_EQ(held_->requests(), 1);
    EXPECT_EQ(scheduler_.depth().requests, 0) << "no image of the call waits";
  };
  const auto with = [](const CallerQuota& quota) { return Caller{.quota = std::make_shared<CallerQuota>(quota)}; };
  refused(4, with({.requests_per_second = 100, .burst = 3}), "quota allows 3 at a time");
  refused(4, with({.requests_per_second = 3.5}), "quota allows 3 at a time");
  refused(4, with({.max_in_flight = 2}), "quota allows 2 at a time");
  refused(9, {}, "the server accepts at most 8 at a time");
  model_->queue_limits->max_requests = 3;
  refused(4, {}, "for this model at most 3 at a time");
  model_->queue_limits->max_requests = 4;
  model_->queue_limits->max_bytes = 500;
  refused(3, {}, "576 bytes of images, but the server accepts for this model at most 500 at a time");
}

TEST(BatchLimits, BytesAreLimitedUnlessThereIsOneImage) {
  const AdmissionOptions server = {.max_requests = 8, .max_bytes = 1000};
  const QueueLimits no_limits{};
  EXPECT_EQ(CheckBatch({.requests = 8, .bytes = 1000}, server, no_limits, nullptr), absl::OkStatus());
  EXPECT_THAT(std::string(CheckBatch({.requests = 2, .bytes = 268435456}, server, no_limits, nullptr).message()),
              HasSubstr("268435456 bytes of images, but the server accepts at most 1000 at a time"));
  EXPECT_EQ(CheckBatch({.requests = 1, .bytes = 2000}, server, no_limits, nullptr), absl::OkStatus())
      << "an idle server admits any single image";
}

TEST_F(InferTest, AnswersHoldResourcesUntilTheyAreRead) {
  const Caller caller = {.quota = std::make_shared<CallerQuota>(CallerQuota{.max_in_flight = 2})};
  Ask(2, caller);
  EXPECT_GE(admission_.answers().reserved(), 2 * 2 * 5 * 4) << "the answer has two outputs with all classes";
  EXPECT_EQ(held_->bytes(), admission_.answers().reserved());
  End(Right());
  End(Right());
  ASSERT_TRUE(answer_.ok()) << answer_.status();
  const auto size = static_cast<int64_t>(answer_->ByteSizeLong());
  held_->SetBytes(size);
  EXPECT_EQ(admission_.answers().reserved(), size) << "the answer was made and is unread";
  EXPECT_EQ(admission_.load().requests, 2);
  EXPECT_EQ(admission_.load().computing, 0);

  std::shared_ptr<AnswerResources> first = std::move(held_);
  Ask(1, caller);
  EXPECT_EQ(ShedReasonOf(answer_.status()), ShedReason::kQuota) << "unread answers count as in flight";
  first = nullptr;
  EXPECT_EQ(admission_.answers().reserved(), 0);
  EXPECT_EQ(admission_.load().requests, 0);
  Ask(2, caller);
  End(Right());
  End(Right());
  EXPECT_TRUE(answer_.ok()) << answer_.status();
}

TEST_F(InferTest, AFailedCallHoldsOnlyItsError) {
  Ask(2);
  End(Right());
  End(absl::InvalidArgumentError("damaged"));
  EXPECT_FALSE(answer_.ok());
  held_->SetBytes(20);
  EXPECT_EQ(admission_.answers().reserved(), 20) << "the answered image holds no memory either";
}

TEST_F(InferTest, WithoutAHoldOfTheCallerTheAnswerReleasesEverything) {
  vitrine::Infer(service_, testing::Received(PixelsRequest(2)), {.method = Method::kModelInfer},
                 [this](absl::StatusOr<inference::ModelInferResponse> answer) { answer_ = std::move(answer); });
  EXPECT_EQ(service_.ledger().in_flight(), 2);
  End(Right());
  End(Right());
  EXPECT_TRUE(answer_.ok()) << answer_.status();
  EXPECT_EQ(service_.ledger().in_flight(), 0);
  EXPECT_EQ(admission_.load().requests, 0);
  EXPECT_EQ(admission_.answers().reserved(), 0);
}

}  // namespace
}  // namespace vitrine
