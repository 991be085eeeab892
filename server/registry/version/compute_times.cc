// SPDX-License-Identifier: Apache-2.0
#include "server/registry/version/compute_times.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace vitrine {
namespace {

int SizeOf(int64_t images) {
  const int power = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(images, 1))) - 1;
  return std::min(power, ComputeTimes::kSizes - 1);
}

}  // namespace

ComputeTimes operator-(const ComputeTimes& later, const ComputeTimes& earlier) {
  ComputeTimes between;
  for (int s = 0; s < ComputeTimes::kSizes; ++s) {
    between.sizes[s].images = later.sizes[s].images - earlier.sizes[s].images;
    between.sizes[s].log_seconds = later.sizes[s].log_seconds - earlier.sizes[s].log_seconds;
  }
  return between;
}

void ComputeRecord::Add(int64_t images, absl::Duration spent) {
  const double seconds = absl::ToDoubleSeconds(std::max(spent, absl::Nanoseconds(1))) / static_cast<double>(images);
  const double log_seconds = static_cast<double>(images) * std::log(seconds);
  MutexLock lock(mutex_);
  ComputeTimes::OfSize& size = times_.sizes[SizeOf(images)];
  size.images += images;
  size.log_seconds += log_seconds;
}

ComputeTimes ComputeRecord::Read() const {
  MutexLock lock(mutex_);
  return times_;
}

ComputeComparison Compare(const ComputeTimes& version, const ComputeTimes& other) {
  ComputeComparison comparison;
  double log_ratio = 0;
  for (int s = 0; s < ComputeTimes::kSizes; ++s) {
    const ComputeTimes::OfSize &mine = version.sizes[s], &theirs = other.sizes[s];
    const int64_t images = std::min(mine.images, theirs.images);
    if (images <= 0) continue;
    comparison.images += images;
    log_ratio += static_cast<double>(images) * (mine.log_seconds / static_cast<double>(mine.images) -
                                                theirs.log_seconds / static_cast<double>(theirs.images));
  }
  if (comparison.images > 0) comparison.ratio = std::exp(log_ratio / static_cast<double>(comparison.images));
  return comparison;
}

}  // namespace vitrine
