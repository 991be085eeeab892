// SPDX-License-Identifier: Apache-2.0
#include "client/lib/in_flight_limit.h"

#include <algorithm>

namespace vitrine {
namespace {

constexpr double kPays = 1.03;
constexpr int kRest = 8;  // windows without a rise, after a reverted rise or a rejection
// A window lasts until kAnswersPerPlace * limit_ answers have come, and at least kLeastWindow, so that its rate does
// not depend on a single batch.
constexpr int64_t kAnswersPerPlace = 4;
constexpr absl::Duration kLeastWindow = absl::Milliseconds(50);

}  // namespace

InFlightLimit::InFlightLimit(int most, int first) : most_(most), limit_(std::clamp(first, 1, most)) {}

void InFlightLimit::OnAnswer(int in_flight, absl::Time now) {
  if (window_ == absl::InfinitePast()) return BeginWindow(now);
  ++answers_;
  full_ = full_ || in_flight >= limit_;
  if (answers_ < kAnswersPerPlace * limit_ || now - window_ < kLeastWindow) return;
  // A window in which the limit was never reached gives no information: the source, not the limit, determined the rate.
  if (full_) EndWindow(static_cast<double>(answers_) / absl::ToDoubleSeconds(now - window_));
  BeginWindow(now);
}

void InFlightLimit::OnOverload(absl::Time sent, absl::Time now) {
  if (sent <= halved_) return;
  limit_ = std::max(1, limit_ / 2);
  halved_ = now;
  before_ = 0;
  rest_ = kRest;
  window_ = absl::InfinitePast();
}

void InFlightLimit::BeginWindow(absl::Time now) {
  window_ = now;
  answers_ = 0;
  full_ = false;
}

void InFlightLimit::EndWindow(double rate) {
  if (before_ > 0 && rate < kPays * rate_before_) {
    limit_ = before_;
    before_ = 0;
    rest_ = kRest;
    return;
  }
  before_ = 0;
  if (rest_ > 0) {
    --rest_;
    return;
  }
  if (limit_ == most_) return;
  before_ = limit_;
  rate_before_ = rate;
  limit_ = std::min(most_, limit_ + std::max(1, limit_ / 4));
}

}  // namespace vitrine
