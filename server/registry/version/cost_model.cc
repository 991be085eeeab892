// SPDX-License-Identifier: Apache-2.0
#include "server/registry/version/cost_model.h"

#include <algorithm>
#include <cmath>

namespace vitrine {
namespace {

constexpr double kFitWeight = 0.1;  // weight of a new point
// Minimum standard deviation of x, relative to the mean of x, for which a slope is fitted.
constexpr double kLeastSpread = 0.1;

// Weight of a new observation in a running mean.
constexpr double kCostWeight = 0.2;
// Weight of an observation that lowers PredictionError. It is small, so that a few accurate batches lower
// PredictionError only slowly.
constexpr double kCalmWeight = 0.05;
// Seconds per overlay pixel, assumed until the first overlay is drawn; an overlay of 1024 x 1024 takes about 0.2 s.
constexpr double kOverlayGuess = 2e-7;

void Blend(double& mean, double observed) {
  mean = mean == 0 ? observed : mean + kCostWeight * (observed - mean);
}

}  // namespace

void LinearFit::Observe(double x, double y) {
  const double weight = is_empty_ ? 1 : kFitWeight;
  is_empty_ = false;
  x_ += weight * (x - x_);
  y_ += weight * (y - y_);
  xx_ += weight * (x * x - xx_);
  xy_ += weight * (x * y - xy_);
}

double LinearFit::At(double x) const {
  if (x_ <= 0) return y_;
  const double variance = xx_ - x_ * x_;
  const double through_origin = y_ / x_;
  if (variance < kLeastSpread * kLeastSpread * x_ * x_) return through_origin * x;
  const double slope = std::clamp((xy_ - x_ * y_) / variance, 0.0, through_origin);
  return y_ + slope * (x - x_);
}

void ModelCost::ObserveCompute(int64_t tokens, absl::Duration spent) {
  const double seconds = absl::ToDoubleSeconds(spent), count = static_cast<double>(std::max<int64_t>(tokens, 1));
  MutexLock lock(mutex_);
  if (const double predicted = seconds_of_batch_.At(count); predicted > 0) {
    const double excess = std::max(seconds / predicted - 1, 0.0);
    const double change = excess * excess - excess_squared_;
    excess_squared_ += (change > 0 ? kCostWeight : kCalmWeight) * change;
  }
  Blend(seconds_per_token_, seconds / count);
  seconds_of_batch_.Observe(count, seconds);
}

void ModelCost::ObserveDecode(int64_t pixels, absl::Duration spent) {
  MutexLock lock(mutex_);
  Blend(decode_seconds_, absl::ToDoubleSeconds(spent));
  Blend(decode_pixels_, static_cast<double>(std::max<int64_t>(pixels, 1)));
}

void ModelCost::ObserveEncode(int64_t overlay_pixels, absl::Duration spent) {
  MutexLock lock(mutex_);
  if (overlay_pixels == 0) return Blend(seconds_per_answer_, absl::ToDoubleSeconds(spent));
  // The whole time is counted for the overlays, because all other work for such an answer takes about a thousandth of
  // the time.
  Blend(seconds_per_overlay_pixel_, absl::ToDoubleSeconds(spent) / static_cast<double>(overlay_pixels));
}

absl::Duration ModelCost::Predict(int64_t tokens, int64_t pixels, int64_t overlay_pixels) const {
  const absl::Duration beside = PredictBesideCompute(pixels, overlay_pixels);
  MutexLock lock(mutex_);
  return absl::Seconds(seconds_per_token_ * static_cast<double>(tokens)) + beside;
}

absl::Duration ModelCost::PredictBatch(int64_t tokens) const {
  MutexLock lock(mutex_);
  return absl::Seconds(seconds_of_batch_.At(static_cast<double>(tokens)));
}

absl::Duration ModelCost::PredictionError(int64_t tokens) const {
  MutexLock lock(mutex_);
  const double predicted = seconds_of_batch_.At(static_cast<double>(tokens));
  return absl::Seconds(predicted * std::min(1.5 * std::sqrt(excess_squared_), 1.0));
}

absl::Duration ModelCost::PredictBesideCompute(int64_t pixels, int64_t overlay_pixels) const {
  MutexLock lock(mutex_);
  const double seconds_per_pixel = decode_pixels_ == 0 ? 0 : decode_seconds_ / decode_pixels_;
  const double seconds_per_overlay_pixel = seconds_per_overlay_pixel_ == 0 ? kOverlayGuess : seconds_per_overlay_pixel_;
  return absl::Seconds(seconds_per_pixel * static_cast<double>(pixels) + seconds_per_answer_ +
                       seconds_per_overlay_pixel * static_cast<double>(overlay_pixels));
}

}  // namespace vitrine
