// SPDX-License-Identifier: Apache-2.0
// Tests, through the service, the resources that are held until the client has received the answer.
#include "server/serve/request/answer_hold.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/process/shed.h"
#include "server/serve/request/classify_service.h"
#include "tests/server/registry/fake_repository.h"
#include "tests/server/served.h"

namespace vitrine {
namespace {

// Provides a model with 7 classes, whose longest label has 100 bytes.
class AnswerHoldTest : public ::testing::Test {
 protected:
  AnswerHoldTest() {
    files_.Add("m", 1);
    registry_.Poll();
  }

  // Makes one call, as server/wire does. Its answer is added to answers_, and its resources are added to holds_.
  void Ask(const Caller& caller = {}, AnswerForm form = {}, int top_k = 7) {
    v1::ClassifyRequest request;
    request.set_model("m");
    request.set_top_k(top_k);
    v1::RawTensor& tensor = *request.mutable_tensor();
    tensor.set_height(16);
    tensor.set_width(16);
    tensor.set_channels(3);
    tensor.set_data_type(v1::RawTensor::DATA_UINT8);
    tensor.set_data(std::string(16 * 16 * 3, 'x'));
    auto held = std::make_shared<AnswerResources>(service_.ledger());
    holds_.push_back(held);
    service_.Classify(ReceivedOf(std::move(request)), {.caller = caller, .form = form, .held = std::move(held)},
                      [this](absl::StatusOr<v1::ClassifyResponse> answer) { answers_.push_back(std::move(answer)); });
  }

  void ComputeAll() {
    while (scheduler_.depth().requests > 0) {
      std::optional<Batch> batch = scheduler_.NextBatch();
      for (const auto& request : batch->requests) request->Finish(v1::ClassifyResponse());
    }
  }

  FakeRepository files_;
  FakeClock clock_;
  Metrics metrics_{"1"};
  const ModelHandle model_ = [] {
    auto model = std::make_shared<LoadedModel>(*ServedEit());
    model->longest_label = 100;
    return model;
  }();
  Registry registry_{{.root = files_.root(), .serving_config = "", .admin_state = ""},
                     [this](const VersionId&) { return model_; },
                     clock_};
  Admission admission_{{.max_requests = 5000}, clock_};
  Scheduler scheduler_{{}, clock_, /*sweep=*/false};
  ClassifyService service_{registry_, admission_, scheduler_, metrics_, clock_};
  std::vector<std::shared_ptr<AnswerResources>> holds_;
  std::vector<absl::StatusOr<v1::ClassifyResponse>> answers_;
};

TEST_F(AnswerHoldTest, MemoryIsReservedForEveryPredictionAndItsLabel) {
  Ask({}, {}, 1);
  const int64_t one = holds_[0]->bytes();
  Ask({}, {}, 7);
  EXPECT_EQ(holds_[1]->bytes() - one, 6 * (16 + 100));
  Ask({}, {.scale = 3}, 7);
  EXPECT_EQ(holds_[2]->bytes() - holds_[1]->bytes(), 2 * 7 * (16 + 100)) << "an answer in JSON takes more bytes";
  Ask({}, {.prediction_bytes = 1'000'000}, 7);
  EXPECT_GE(holds_[3]->bytes(), 1'000'000);
  EXPECT_EQ(admission_.answers().reserved(), one + holds_[1]->bytes() + holds_[2]->bytes() + holds_[3]->bytes());
  ComputeAll();
}

// Tests that the bytes of unread answers are counted exactly, also after some answers were released.
TEST_F(AnswerHoldTest, TheGaugeIsExactForThousandsOfUnreadAnswers) {
  constexpr int kCalls = 4000;
  for (int i = 0; i < kCalls; ++i) Ask();
  ComputeAll();
  int64_t bytes = 0;
  for (int i = 0; i < kCalls; ++i) {
    holds_[static_cast<size_t>(i)]->SetBytes(1000 + i);
    bytes += 1000 + i;
  }
  EXPECT_EQ(admission_.answers().reserved(), bytes);
  EXPECT_EQ(admission_.load().requests, kCalls) << "each unread answer keeps its place";
  EXPECT_EQ(admission_.load().computing, 0) << "no request is left to compute";
  EXPECT_EQ(service_.ledger().in_flight(), kCalls);
  holds_.resize(10);
  EXPECT_EQ(admission_.answers().reserved(), 10 * 1000 + 45);
  EXPECT_EQ(service_.ledger().in_flight(), 10);
  holds_.clear();
  EXPECT_EQ(admission_.load().requests, 0);
  EXPECT_EQ(service_.ledger().in_flight(), 0);
}

TEST_F(AnswerHoldTest, PlaceAndQuotaAreReleasedWithTheAnswer) {
  const Caller caller = {.quota = std::make_shared<CallerQuota>(CallerQuota{.max_in_flight = 1})};
  Ask(caller);
  ComputeAll();
  ASSERT_TRUE(answers_[0].ok());
  Ask(caller);
  EXPECT_EQ(ShedReasonOf(answers_[1].status()), ShedReason::kQuota) << "the client has not received the first answer";
  holds_.clear();
  Ask(caller);
  ComputeAll();
  EXPECT_TRUE(answers_[2].ok()) << answers_[2].status();
}

TEST_F(AnswerHoldTest, ARequestKeepsItsPlaceAfterItsClientLeft) {
  Ask();
  holds_.clear();
  EXPECT_EQ(admission_.load().requests, 1) << "the request is still computed";
  ComputeAll();
  EXPECT_EQ(admission_.load().requests, 0);
  EXPECT_EQ(admission_.answers().reserved(), 0);
}

TEST_F(AnswerHoldTest, ARejectedRequestHoldsNoResources) {
  service_.StartDraining();
  Ask();
  EXPECT_FALSE(answers_[0].ok());
  holds_[0]->SetBytes(100);
  EXPECT_EQ(holds_[0]->bytes(), 0);
  EXPECT_EQ(service_.ledger().in_flight(), 1);
  holds_.clear();
  EXPECT_EQ(service_.ledger().in_flight(), 0);
}

}  // namespace
}  // namespace vitrine
