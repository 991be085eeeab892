// SPDX-License-Identifier: Apache-2.0
// A batch on its way through the service: what is counted of it, and what it holds.
#include "server/wire/oip/infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/process/shed.h"
#include "server/wire/rpc/outline.h"
#include "tests/server/registry/fake_repository.h"
#include "tests/server/small_models.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

inference::ModelInferRequest PixelsRequest(int pictures) {
  inference::ModelInferRequest request;
  request.set_model_name("m");
  auto& input = *request.add_inputs();
  input.set_name("image");
  input.set_datatype("UINT8");
  for (const int64_t side : {pictures, 8, 8, 3}) input.add_shape(side);
  request.add_raw_input_contents(std::string(static_cast<size_t>(pictures) * 8 * 8 * 3, 'x'));
  return request;
}

// One picture of so many bytes, which follow its length.
inference::ModelInferRequest FileRequest(size_t bytes) {
  inference::ModelInferRequest request;
  request.set_model_name("m");
  request.set_id("7");
  auto& input = *request.add_inputs();
  input.set_name("image");
  input.set_datatype("BYTES");
  input.add_shape(1);
  std::string file = NoisePng(8, 8, 1);
  file.resize(bytes, '.');
  std::string& raw = *request.add_raw_input_contents();
  for (int shift = 0; shift < 32; shift += 8) raw.push_back(static_cast<char>(bytes >> shift));
  raw += file;
  return request;
}

class InferTest : public ::testing::Test {
 protected:
  InferTest() {
    files_.Add("m", 1);
    model_->metrics = metrics_.ForModel("m");
    registry_.Poll();
  }

  // The answer lands in answer_ and held_.
  void Ask(int pictures, Caller caller = {}) {
    vitrine::Infer(service_, PixelsRequest(pictures),
                   {.caller = std::move(caller), .method = Method::kModelInfer, .cancelled = cancelled_},
                   [this](absl::StatusOr<inference::ModelInferResponse> answer, InferHeld held) {
                     answer_ = std::move(answer);
                     held_ = std::move(held);
                   });
  }

  // The same as it comes over gRPC, with so much time left; how much of the values was read.
  size_t AskWithin(absl::Duration left, const inference::ModelInferRequest& message) {
    CallContext call = {.method = Method::kModelInfer, .deadline = clock_.Now() + left, .cancelled = cancelled_};
    const grpc::Slice slice(message.SerializeAsString());
    grpc::ByteBuffer bytes(&slice, 1);
    absl::StatusOr<inference::ModelInferRequest> request = ReadInfer(service_, bytes, call);
    EXPECT_TRUE(request.ok()) << request.status();
    EXPECT_EQ(request->id(), message.id());
    const size_t read = request->raw_input_contents(0).size();
    answer_ = absl::UnknownError("no answer yet");
    vitrine::Infer(service_, std::move(request), std::move(call),
                   [this](absl::StatusOr<inference::ModelInferResponse> answer, InferHeld held) {
                     answer_ = std::move(answer);
                     held_ = std::move(held);
                   });
    return read;
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
  InferHeld held_;
};

// What a caller sends to a version by its name tells nothing of how the shares' versions compare.
TEST_F(InferTest, OnlyWhatNamesNoVersionIsRouted) {
  for (const char* version : {"", "1"}) {
    inference::ModelInferRequest request = PixelsRequest(2);
    request.set_model_version(version);
    vitrine::Infer(service_, std::move(request), {.method = Method::kModelInfer, .cancelled = cancelled_},
                   [this](absl::StatusOr<inference::ModelInferResponse> answer, const InferHeld&) {
                     answer_ = std::move(answer);
                   });
    for (int i = 0; i < 2; ++i) {
      std::optional<Batch> batch = scheduler_.NextBatch();
      EXPECT_EQ(batch->requests.front()->is_routed, std::string(version).empty());
      batch->requests.front()->Finish(Right());
    }
    EXPECT_TRUE(answer_.ok()) << answer_.status();
  }
}

TEST_F(InferTest, TheOthersOfARefusedBatchHaveNotLeft) {
  Ask(4);
  End(absl::InvalidArgumentError("damaged"));
  scheduler_.Sweep();
  EXPECT_EQ(answer_.status(), absl::InvalidArgumentError("damaged")) << "the first refusal, whatever follows";
  EXPECT_EQ(held_.requests, 4);
  EXPECT_EQ(Counted("INVALID_ARGUMENT"), 1);
  EXPECT_EQ(Counted("ABORTED"), 3);
  EXPECT_EQ(Counted("CANCELLED"), 0);
  EXPECT_THAT(metrics_.Text(), HasSubstr("vitrine_requests_cancelled_total{model=\"m\",stage=\"queue\"} 0\n"));
  EXPECT_EQ(admission_.load().requests, 0);
}

TEST_F(InferTest, ABatchWhoseClientLeftIsCountedAsThat) {
  Ask(4);
  cancelled_->store(true);
  scheduler_.Sweep();
  EXPECT_TRUE(absl::IsCancelled(answer_.status()));
  EXPECT_EQ(Counted("CANCELLED"), 4);
  EXPECT_EQ(Counted("ABORTED"), 0);
  EXPECT_THAT(metrics_.Text(), HasSubstr("vitrine_requests_cancelled_total{model=\"m\",stage=\"queue\"} 4\n"));
}

// Else a caller that tries again as it is told would use up its quota by trying.
TEST_F(InferTest, WhatWasDroppedTakesNothingOfTheQuota) {
  const Caller caller = {.quota = std::make_shared<CallerQuota>(CallerQuota{.requests_per_second = 1, .burst = 4})};
  Ask(2, caller);
  End(Right());
  End(Right());
  ASSERT_TRUE(answer_.ok()) << answer_.status();
  Ask(4, caller);
  EXPECT_THAT(metrics_.Text(), HasSubstr("vitrine_requests_shed_total{model=\"unknown\",reason=\"quota\"} 1\n"))
      << "the third: two are left";
  EXPECT_EQ(Counted("ABORTED"), 1) << "the fourth, which is not even tried";
  scheduler_.Sweep();
  EXPECT_EQ(ShedReasonOf(answer_.status()), ShedReason::kQuota);
  EXPECT_TRUE(RetryAfter(answer_.status()).has_value()) << "the whole burst is enough";
  EXPECT_EQ(Counted("ABORTED"), 3);
  Ask(2, caller);
  End(Right());
  End(Right());
  EXPECT_TRUE(answer_.ok()) << answer_.status();
}

TEST_F(InferTest, WhatNoIdleServerWouldAdmitIsNotToBeTriedAgain) {
  const auto refused = [&](int pictures, const Caller& caller, const std::string& limit) {
    Ask(pictures, caller);
    EXPECT_TRUE(absl::IsResourceExhausted(answer_.status())) << answer_.status();
    EXPECT_FALSE(RetryAfter(answer_.status()).has_value()) << answer_.status();
    EXPECT_THAT(std::string(answer_.status().message()), AllOf(HasSubstr(limit), HasSubstr("send fewer pictures")));
    EXPECT_EQ(held_.requests, 1);
    EXPECT_EQ(scheduler_.depth().requests, 0) << "nothing of it waits";
  };
  const auto with = [](const CallerQuota& quota) { return Caller{.quota = std::make_shared<CallerQuota>(quota)}; };
  refused(4, with({.requests_per_second = 100, .burst = 3}), "quota allows 3 at a time");
  refused(4, with({.requests_per_second = 3.5}), "quota allows 3 at a time");
  refused(4, with({.max_in_flight = 2}), "quota allows 2 at a time");
  refused(9, {}, "the server holds at most 8 at a time");
  model_->queue_limits->max_requests = 3;
  refused(4, {}, "for this model at most 3 at a time");
  model_->queue_limits->max_requests = 4;
  model_->queue_limits->max_bytes = 500;
  refused(3, {}, "576 bytes of pictures, and the server holds for this model at most 500 at a time");
}

TEST(BatchLimits, BytesOfTheServerAndOnePictureAlone) {
  const AdmissionOptions server = {.max_requests = 8, .max_bytes = 1000};
  const QueueLimits no_limits{};
  EXPECT_EQ(CheckBatch({.requests = 8, .bytes = 1000}, server, no_limits, nullptr), absl::OkStatus());
  EXPECT_THAT(std::string(CheckBatch({.requests = 2, .bytes = 268435456}, server, no_limits, nullptr).message()),
              HasSubstr("268435456 bytes of pictures, and the server holds at most 1000 at a time"));
  EXPECT_EQ(CheckBatch({.requests = 1, .bytes = 2000}, server, no_limits, nullptr), absl::OkStatus())
      << "an idle server admits any one picture";
}

TEST_F(InferTest, AnswersHoldTheirRoomUntilTheyAreTaken) {
  Ask(2);
  const int64_t planned = admission_.answers().reserved();
  EXPECT_GE(planned, 2 * 5 * 8);
  End(Right());
  End(Right());
  ASSERT_TRUE(answer_.ok()) << answer_.status();
  EXPECT_EQ(admission_.answers().reserved(), planned) << "made, and not yet taken";
  held_ = {};
  EXPECT_EQ(admission_.answers().reserved(), 0);
}

TEST_F(InferTest, ARefusedBatchHoldsNoRoomForAnswers) {
  Ask(2);
  End(Right());
  End(absl::InvalidArgumentError("damaged"));
  EXPECT_FALSE(answer_.ok());
  EXPECT_EQ(admission_.answers().reserved(), 0) << "also of the part that was answered";
}

// The server refuses what would come too late, and looks no further into a picture than that takes.
class LateInferTest : public InferTest {
 protected:
  LateInferTest() {
    model_->cost->ObserveCompute(1, absl::Seconds(1));  // each token
    EXPECT_EQ(AskWithin(absl::Hours(1), PixelsRequest(1)), 192U);
    EXPECT_EQ(AskWithin(absl::Milliseconds(10), PixelsRequest(1)), 192U) << "nobody was refused before it";
    EXPECT_TRUE(service_.RefusesTheLate());
    EXPECT_EQ(Refusal(), ShedReason::kDeadline);
  }
  ~LateInferTest() override { scheduler_.Stop(absl::ZeroDuration()); }

  std::optional<ShedReason> Refusal() const { return ShedReasonOf(answer_.status()); }
};

TEST_F(LateInferTest, IsRefusedByItsOutline) {
  const absl::Status first = answer_.status();
  EXPECT_EQ(AskWithin(absl::Milliseconds(10), PixelsRequest(1)), 0U);
  EXPECT_EQ(answer_.status(), first) << "the same refusal, with the same advice";
  EXPECT_EQ(held_.requests, 1);
  EXPECT_EQ(AskWithin(absl::Milliseconds(10), FileRequest(50'000)), 4 + kFirstLookBytes);
  EXPECT_EQ(Refusal(), ShedReason::kDeadline);
  EXPECT_EQ(AskWithin(absl::Milliseconds(10), FileRequest(300)), 304U);
  EXPECT_EQ(Refusal(), ShedReason::kDeadline);
  EXPECT_EQ(Counted("RESOURCE_EXHAUSTED"), 4);
  EXPECT_EQ(admission_.load().requests, 1) << "the first";
}

TEST_F(LateInferTest, WhatIsNotRefusedForItsTimeIsReadWhole) {
  EXPECT_EQ(AskWithin(absl::Hours(1), PixelsRequest(1)), 192U);
  EXPECT_EQ(admission_.load().requests, 2);
  EXPECT_EQ(AskWithin(absl::Milliseconds(10), PixelsRequest(2)), 384U) << "several are refused one by one";
  inference::ModelInferRequest wrong = FileRequest(50'000);
  wrong.mutable_raw_input_contents(0)->pop_back();
  EXPECT_EQ(AskWithin(absl::Milliseconds(10), wrong), 50'003U);
  EXPECT_EQ(answer_.status().code(), absl::StatusCode::kInvalidArgument) << answer_.status();
  wrong = PixelsRequest(1);
  wrong.mutable_raw_input_contents(0)->pop_back();
  EXPECT_EQ(AskWithin(absl::Milliseconds(10), wrong), 191U);
  EXPECT_EQ(answer_.status().code(), absl::StatusCode::kInvalidArgument) << answer_.status();
  wrong = FileRequest(50'000);
  (*wrong.mutable_inputs(0)->mutable_parameters())["content_type"].set_string_param("base64");
  EXPECT_EQ(AskWithin(absl::Milliseconds(10), wrong), 50'004U);
  EXPECT_EQ(answer_.status().code(), absl::StatusCode::kInvalidArgument) << answer_.status();
  wrong = PixelsRequest(1);
  wrong.set_model_name("nobody");
  EXPECT_EQ(AskWithin(absl::Milliseconds(10), wrong), 192U);
  EXPECT_EQ(answer_.status().code(), absl::StatusCode::kNotFound) << answer_.status();
}

}  // namespace
}  // namespace vitrine
