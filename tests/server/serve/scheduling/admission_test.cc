// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/admission.h"

#include <gmock/gmock.h>

#include <cmath>
#include <thread>
#include <utility>
#include <vector>

#include "server/serve/scheduling/inference_request.h"

namespace vitrine {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class AdmissionTest : public ::testing::Test {
 protected:
  // Sets the cost of each token to one millisecond of an executor.
  AdmissionTest() { model_->cost->ObserveCompute(1000, absl::Seconds(1)); }

  InferenceRequest Request(int64_t tokens = 1, int64_t bytes = 1) {
    InferenceRequest request;
    request.model = model_;
    request.tokens = tokens;
    static const std::string& image = *new std::string(1 << 22, 'x');
    request.input = std::string_view(image).substr(0, bytes);
    return request;
  }

  FakeClock clock_;
  std::shared_ptr<LoadedModel> model_ = std::make_shared<LoadedModel>();
};

TEST_F(AdmissionTest, IsBoundedByTheNumberOfRequests) {
  Admission admission({.max_requests = 2}, clock_);
  auto first = admission.Admit(Request());
  auto second = admission.Admit(Request());
  ASSERT_TRUE(first.ok() && second.ok());
  const auto third = admission.Admit(Request());
  EXPECT_EQ(third.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(third.status().message()), HasSubstr("has 2 requests, its limit"));
  ASSERT_TRUE(RetryAfter(third.status()).has_value());
  EXPECT_GT(*RetryAfter(third.status()), absl::ZeroDuration());

  first->Release();
  first->Release();
  EXPECT_EQ(admission.load().requests, 1) << "a second Release of the same place must have no effect";
  EXPECT_TRUE(admission.Admit(Request()).ok());
}

double RetryMilliseconds(const absl::Status& refused) {
  return absl::ToDoubleMilliseconds(RetryAfter(refused).value_or(absl::InfiniteDuration()));
}

TEST_F(AdmissionTest, TheRetryTimeIsWhenTheRequestWouldBeAdmitted) {
  Admission admission({.max_requests = 2, .max_bytes = 100, .deadline_share = 1, .executors = 2}, clock_);
  const auto first = admission.Admit(Request(300, 60));  // 300 ms of work, 150 ms on each of two executors
  ASSERT_TRUE(first.ok());
  EXPECT_NEAR(RetryMilliseconds(admission.Admit(Request(1, 70)).status()), 75, 0.1)
      << "30 of the 60 bytes are released after half of the 150 ms";
  InferenceRequest request = Request(100);  // its predicted time is 250 ms
  request.deadline = clock_.Now() + absl::Milliseconds(210);
  EXPECT_NEAR(RetryMilliseconds(admission.Admit(request).status()), 40, 0.1);
  const auto second = admission.Admit(Request(100));
  ASSERT_TRUE(second.ok());
  EXPECT_NEAR(RetryMilliseconds(admission.Admit(Request()).status()), 100, 0.1)
      << "one of two requests ends after half of the 200 ms";
  EXPECT_NEAR(RetryMilliseconds(admission.CheckRequestLimit("")), 100, 0.1);
}

TEST_F(AdmissionTest, IsBoundedByBytes) {
  Admission admission({.max_bytes = 100}, clock_);
  const auto first = admission.Admit(Request(1, 60));
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(admission.Admit(Request(1, 41)).status().ToString(), HasSubstr("would exceed its limit of 100"));
  EXPECT_TRUE(admission.Admit(Request(1, 40)).ok());
}

TEST_F(AdmissionTest, AnIdleServerAdmitsARequestBeyondItsBounds) {
  Admission admission({.max_bytes = 100, .max_predicted_wait = absl::Milliseconds(1)}, clock_);
  EXPECT_TRUE(admission.Admit(Request(1000, 1000)).ok()) << "otherwise a wrong prediction would never be corrected";
}

TEST_F(AdmissionTest, RefusesARequestThatWouldMissItsDeadline) {
  Admission admission({.deadline_share = 1, .executors = 2}, clock_);
  const auto ahead = admission.Admit(Request(100));  // 100 ms of work, 50 ms on each of two executors
  ASSERT_TRUE(ahead.ok());
  InferenceRequest request = Request(10);  // its predicted time is 50 ms of waiting and 10 ms of work
  request.deadline = clock_.Now() + absl::Milliseconds(59);
  const auto refused = admission.Admit(request);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted) << refused.status();
  EXPECT_TRUE(RetryAfter(refused.status()).has_value());
  request.deadline = clock_.Now() + absl::Milliseconds(61);
  EXPECT_TRUE(admission.Admit(request).ok());
}

TEST_F(AdmissionTest, RefusesAWaitAboveItsLimit) {
  Admission admission({.max_predicted_wait = absl::Milliseconds(99)}, clock_);
  const auto ahead = admission.Admit(Request(99));
  ASSERT_TRUE(ahead.ok());
  EXPECT_THAT(admission.Admit(Request(1)).status().ToString(), HasSubstr("longer than its limit of 99 ms"));
}

TEST_F(AdmissionTest, UrgentRequestsDoNotWaitForPatientOnes) {
  Admission admission({}, clock_);
  InferenceRequest low = Request(1000);
  low.request.set_priority(v1::LOW);
  const auto ahead = admission.Admit(low);
  ASSERT_TRUE(ahead.ok());
  InferenceRequest high = Request(10);
  high.request.set_priority(v1::HIGH);
  high.deadline = clock_.Now() + absl::Milliseconds(100);
  EXPECT_TRUE(admission.Admit(high).ok());
  low.deadline = high.deadline;
  EXPECT_FALSE(admission.Admit(low).ok());
}

// HIGH requests overtake LOW requests and use half of the executor's time. A LOW request of 100 ms waits when a second
// LOW request of 100 ms arrives. The two need 200 ms. HIGH requests take another 200 ms meanwhile, so the second LOW
// request is answered after 400 ms. The setting `patience` limits the time for which a LOW request can be overtaken.
// With a patience of 100 ms, HIGH requests take half of these 100 ms, which is 50 ms. The second LOW request is then
// answered after 250 ms.
TEST_F(AdmissionTest, UrgentWorkDelaysPatientRequestsAtItsRecentRate) {
  for (const auto& [patience, answered_after] : {std::pair(1000, 400), std::pair(100, 250)}) {
    Admission admission({.deadline_share = 1, .patience = {{{}, {}, absl::Milliseconds(patience)}}}, clock_);
    InferenceRequest low = Request(100), high = Request(10);
    low.request.set_priority(v1::LOW);
    high.request.set_priority(v1::HIGH);
    const auto ahead = admission.Admit(low);
    ASSERT_TRUE(ahead.ok());
    for (int i = 0; i < 500; ++i) {
      EXPECT_TRUE(admission.Admit(high).ok());
      clock_.Advance(absl::Milliseconds(20));
    }
    const auto admits = [&](InferenceRequest& request, int milliseconds) {
      request.deadline = clock_.Now() + absl::Milliseconds(milliseconds);
      return admission.Admit(request).ok();
    };
    EXPECT_FALSE(admits(low, answered_after - 20)) << patience;
    EXPECT_TRUE(admits(low, answered_after + 20)) << patience;
    EXPECT_TRUE(admits(high, 11)) << "no request comes before a HIGH one";
  }
}

// Rejects a LOW request after a burst of urgent requests: the error names them, but not their very long predicted time.
TEST_F(AdmissionTest, TheErrorNamesTheCallersUrgentRequests) {
  Admission admission({}, clock_);
  InferenceRequest high = Request(10'000), low = Request(10);
  high.request.set_priority(v1::HIGH);
  high.deadline = clock_.Now() + absl::Hours(1);
  low.request.set_priority(v1::LOW);
  const auto computing = admission.Admit(high);
  ASSERT_TRUE(computing.ok());
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(admission.Admit(high).ok());
  const absl::Status refused = admission.Admit(low).status();
  ASSERT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  const std::string said(refused.message());
  EXPECT_THAT(said, HasSubstr("more urgent requests of this caller"));
  EXPECT_THAT(said, HasSubstr("longer than its limit of 30000 ms"));
  EXPECT_THAT(said, Not(ContainsRegex("[0-9]{6,} ms"))) << "the error must not predict a very long time";
  ASSERT_TRUE(RetryAfter(refused).has_value());
  clock_.Advance(*RetryAfter(refused));
  EXPECT_TRUE(admission.Admit(low).ok()) << "after " << *RetryAfter(refused);
}

class SharingTest : public AdmissionTest {
 protected:
  InferenceRequest From(const std::string& caller) {
    InferenceRequest request = Request();
    request.caller = caller;
    return request;
  }
  // Returns the number of requests that the caller can have in flight.
  int Places(const std::string& caller) {
    std::vector<HeldPlace> held;
    for (auto ticket = admission_.Admit(From(caller)); ticket.ok(); ticket = admission_.Admit(From(caller))) {
      held.push_back(*std::move(ticket));
    }
    EXPECT_FALSE(admission_.CheckRequestLimit(caller).ok());
    return static_cast<int>(held.size());
  }

  Admission admission_{{.max_requests = 90}, clock_};
};

TEST_F(SharingTest, ACallerMayUseAllPlacesAfterTheOthersLeft) {
  EXPECT_EQ(Places("a"), 90) << "there is no other caller";
  auto other = admission_.Admit(From("b"));
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(Places("a"), 79) << "a caller may hold at most eight times the free places";
  clock_.Advance(absl::Minutes(2));
  EXPECT_EQ(Places("a"), 79) << "the other caller has a request in flight";
  other->Release();
  EXPECT_EQ(Places("a"), 90) << "the last request of the other caller was two minutes ago";
  ASSERT_TRUE(admission_.Admit(From("b")).ok());
  clock_.Advance(absl::Seconds(30));
  EXPECT_EQ(Places("a"), 80) << "the last request of the other caller was half a minute ago";
}

TEST_F(SharingTest, AProbeDoesNotCountAsACaller) {
  InferenceRequest probe = From("probe");
  probe.is_probe = true;
  ASSERT_TRUE(admission_.Admit(probe).ok());
  EXPECT_EQ(Places("a"), 90);
}

TEST_F(AdmissionTest, AnExpiredRequestIsDeadlineExceeded) {
  Admission admission({}, clock_);
  InferenceRequest request = Request();
  request.deadline = clock_.Now();
  EXPECT_EQ(admission.Admit(request).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(AdmissionTest, AMovedPlaceIsNotReleased) {
  Admission admission({}, clock_);
  {
    HeldPlace kept;
    {
      auto ticket = admission.Admit(Request());
      ASSERT_TRUE(ticket.ok());
      kept = *std::move(ticket);
    }
    EXPECT_EQ(admission.load().requests, 1);
  }
  EXPECT_EQ(admission.load().requests, 0);
  EXPECT_EQ(admission.load().work, absl::ZeroDuration());
}

TEST_F(AdmissionTest, ManyThreadsStayWithinTheBoundAndReleaseEverything) {
  Admission admission({.max_requests = 5}, clock_);
  std::atomic<int> inside = 0, most = 0, admitted = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        auto ticket = admission.Admit(Request());
        if (!ticket.ok()) continue;
        ++admitted;
        const int now_inside = ++inside;
        for (int seen = most; seen < now_inside && !most.compare_exchange_weak(seen, now_inside);) {
        }
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(admitted, 0);
  EXPECT_LE(most, 5);
  EXPECT_EQ(admission.load().requests, 0);
  EXPECT_EQ(admission.load().bytes, 0);
  EXPECT_EQ(admission.load().work, absl::ZeroDuration());
}

TEST_F(AdmissionTest, FinishReleasesThePlaceBeforeItAnswers) {
  Admission admission({.max_requests = 1}, clock_);
  InferenceRequest request = Request();
  request.admitted = std::make_shared<Admitted>(Admitted{.place = admission.Admit(request).value()});
  bool place_was_free = false;
  request.done = [&](absl::StatusOr<v1::ClassifyResponse>) { place_was_free = admission.Admit(Request()).ok(); };
  request.Finish(absl::CancelledError(""));
  EXPECT_TRUE(place_was_free);
}

// Tests a request that was computed. It delays no other request, but its answer takes memory until the client has
// received it.
TEST_F(AdmissionTest, AnUnreadAnswerKeepsItsPlaceAndNotItsWork) {
  Admission admission({.max_requests = 2, .max_predicted_wait = absl::Seconds(1)}, clock_);
  InferenceRequest request = Request(1000, 10);
  request.admitted = std::make_shared<Admitted>(Admitted{.place = admission.Admit(request).value()});
  const std::shared_ptr<Admitted> hold = request.admitted;
  EXPECT_EQ(ShedReasonOf(admission.Admit(Request(1000)).status()), ShedReason::kWait);
  request.done = [](const absl::StatusOr<v1::ClassifyResponse>&) {};
  request.Finish(v1::ClassifyResponse());
  EXPECT_EQ(admission.load().requests, 1);
  EXPECT_EQ(admission.load().bytes, 10);
  EXPECT_EQ(admission.load().computing, 0);
  EXPECT_EQ(admission.load().work, absl::ZeroDuration());
  const auto second = admission.Admit(Request(1000));
  EXPECT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(ShedReasonOf(admission.Admit(Request()).status()), ShedReason::kRequests) << "both places are taken";
  *hold = {};
  EXPECT_EQ(admission.load().requests, 1);
  EXPECT_EQ(admission.load().computing, 1);
}

TEST_F(AdmissionTest, WorkIsSubtractedOnce) {
  Admission admission({}, clock_);
  Admitted admitted{.place = admission.Admit(Request(10)).value()};
  const auto other = admission.Admit(Request(5));
  admitted.Answered(true);
  admitted.Answered(true);
  EXPECT_EQ(admission.load().work, absl::Milliseconds(5));
  admitted = {};
  EXPECT_EQ(admission.load().work, absl::Milliseconds(5));
  EXPECT_EQ(admission.load().computing, 1);
}

TEST(ModelCost, StartsWithTheFirstObservationAndFollowsSlowly) {
  ModelCost cost;
  EXPECT_EQ(cost.Predict(100, 100), absl::ZeroDuration());
  cost.ObserveCompute(100, absl::Milliseconds(100));
  EXPECT_NEAR(absl::ToDoubleMilliseconds(cost.Predict(10, 0)), 10, 1e-6);
  cost.ObserveCompute(100, absl::Milliseconds(200));
  const double after_one = absl::ToDoubleMilliseconds(cost.Predict(10, 0));
  EXPECT_NEAR(after_one, 12, 1e-6) << "one slow batch must change the prediction only by a fifth of the difference";
  for (int i = 0; i < 20; ++i) cost.ObserveCompute(100, absl::Milliseconds(200));
  EXPECT_NEAR(absl::ToDoubleMilliseconds(cost.Predict(10, 0)), 20, 0.5);
}

TEST(ModelCost, ASizeOfZeroCountsAsOne) {
  ModelCost cost;
  cost.ObserveCompute(0, absl::Milliseconds(3));
  cost.ObserveDecode(0, absl::Milliseconds(5));
  EXPECT_NEAR(absl::ToDoubleMilliseconds(cost.Predict(2, 0)), 6, 1e-6);
  EXPECT_NEAR(absl::ToDoubleMilliseconds(cost.Predict(0, 2)), 10, 1e-6);
  cost.ObserveEncode(1, absl::Milliseconds(7));
  EXPECT_NEAR(absl::ToDoubleMilliseconds(cost.Predict(0, 0, 2)), 14, 1e-6)
      << "an overlay of one pixel counts as an overlay";
}

TEST(ModelCost, AddsDecodeAndEncode) {
  ModelCost cost;
  cost.ObserveCompute(10, absl::Milliseconds(10));
  cost.ObserveDecode(1000, absl::Milliseconds(1));  // a microsecond per pixel
  cost.ObserveEncode(0, absl::Milliseconds(3));
  EXPECT_NEAR(absl::ToDoubleMilliseconds(cost.Predict(5, 2000)), 5 + 2 + 3, 1e-6);
}

// Tests that the cost of a request includes its overlays, even before any overlay was measured. Measured overlays must
// not change the cost of requests without overlays.
TEST(ModelCost, TheCostOfOverlaysFollowsTheirPixels) {
  ModelCost cost;
  EXPECT_NEAR(absl::ToDoubleMilliseconds(cost.Predict(0, 0, 1'000'000)), 200, 1e-6)
      << "the default is 0.2 us per pixel";
  for (int i = 0; i < 50; ++i) {
    cost.ObserveEncode(0, absl::Microseconds(50));
    cost.ObserveEncode(100'000, absl::Milliseconds(40));
  }
  EXPECT_NEAR(absl::ToDoubleMilliseconds(cost.Predict(0, 0, 0)), 0.05, 1e-6);
  EXPECT_NEAR(absl::ToDoubleMilliseconds(cost.Predict(0, 0, 1'000'000)), 400, 1);
}

// Tests images with a fixed cost in addition to the cost of their pixels. The fixed cost must not raise the prediction
// for a large image a hundredfold.
TEST(ModelCost, SmallImagesDoNotRaiseThePredictionForLargeOnes) {
  ModelCost cost;
  for (int i = 0; i < 50; ++i) {
    cost.ObserveDecode(100, absl::Microseconds(101));       // a fixed cost of 100 us, and 10 ns per pixel
    cost.ObserveDecode(100'000, absl::Microseconds(1100));  // the same costs
  }
  EXPECT_NEAR(absl::ToDoubleMilliseconds(cost.Predict(0, 1'000'000)), 10, 3);
}

TEST_F(AdmissionTest, TheTimeToDrawOverlaysIsPredicted) {
  model_->cost->ObserveEncode(1'000'000, absl::Milliseconds(200));
  Admission admission({.deadline_share = 1}, clock_);
  const auto ahead = admission.Admit(Request(10));
  ASSERT_TRUE(ahead.ok());
  InferenceRequest draws = Request(1);
  draws.deadline = clock_.Now() + absl::Milliseconds(150);
  EXPECT_TRUE(admission.Admit(draws).ok());
  draws.overlay_pixels = 1'000'000;
  EXPECT_EQ(admission.Admit(draws).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(AdmissionTest, TheLimitOfRequestsCanBeCheckedBeforeParsing) {
  Admission admission({.max_requests = 2}, clock_);
  EXPECT_TRUE(admission.CheckRequestLimit("").ok());
  auto first = admission.Admit(Request());
  EXPECT_TRUE(admission.CheckRequestLimit("").ok());
  const auto second = admission.Admit(Request());
  EXPECT_EQ(admission.CheckRequestLimit("").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(RetryAfter(admission.CheckRequestLimit("")).has_value());
  first->Release();
  EXPECT_TRUE(admission.CheckRequestLimit("").ok());
}

// Tests that pixels, not bytes, determine the cost of an image, because a file of some kilobytes can contain 16
// megapixels.
TEST_F(AdmissionTest, TheTimeToDecodeFollowsThePixels) {
  model_->cost->ObserveDecode(1'000'000, absl::Milliseconds(10));
  Admission admission({.deadline_share = 1}, clock_);
  const auto ahead = admission.Admit(Request(10));
  ASSERT_TRUE(ahead.ok());
  InferenceRequest flat = Request(1, 100);
  flat.geometry.original = {.height = 4096, .width = 4096};
  flat.deadline = clock_.Now() + absl::Milliseconds(150);
  EXPECT_EQ(admission.Admit(flat).status().code(), absl::StatusCode::kResourceExhausted);
  InferenceRequest noise = Request(1, 1'000'000);
  noise.geometry.original = {.height = 1000, .width = 1000};
  noise.deadline = clock_.Now() + absl::Milliseconds(150);
  EXPECT_TRUE(admission.Admit(noise).ok());
}

}  // namespace
}  // namespace vitrine
