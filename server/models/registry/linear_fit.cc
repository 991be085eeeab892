// SPDX-License-Identifier: Apache-2.0
#include "server/models/registry/linear_fit.h"

#include <algorithm>

namespace vitrine {
namespace {

constexpr double kFitWeight = 0.1;  // of a new point
// Standard deviation of x, as a share of its mean, from which on a slope means something.
constexpr double kLeastSpread = 0.1;

}  // namespace

void LinearFit::Observe(double x, double y) {
  MutexLock lock(mutex_);
  const double weight = is_empty_ ? 1 : kFitWeight;
  is_empty_ = false;
  x_ += weight * (x - x_);
  y_ += weight * (y - y_);
  xx_ += weight * (x * x - xx_);
  xy_ += weight * (x * y - xy_);
}

double LinearFit::At(double x) const {
  MutexLock lock(mutex_);
  if (x_ <= 0) return y_;
  const double variance = xx_ - x_ * x_;
  const double through_origin = y_ / x_;
  if (variance < kLeastSpread * kLeastSpread * x_ * x_) return through_origin * x;
  const double slope = std::clamp((xy_ - x_ * y_) / variance, 0.0, through_origin);
  return y_ + slope * (x - x_);
}

}  // namespace vitrine
