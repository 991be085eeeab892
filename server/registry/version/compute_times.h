// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_VERSION_COMPUTE_TIMES_H_
#define VITRINE_SERVER_REGISTRY_VERSION_COMPUTE_TIMES_H_

#include <array>
#include <cstdint>

#include "absl/time/time.h"
#include "common/mutex.h"

namespace vitrine {

// Compute times of a version: the time of a batch's forward pass, divided by the number of its images. The time until
// the answer would be a worse measure, because it includes the wait in the queue, which a slow version also makes
// longer for the other versions. Times are stored by batch size, in powers of two, because an image takes less time in
// a full batch than alone. Otherwise a version with a small share of the traffic would look slow, because it gets
// smaller batches.
struct ComputeTimes {
  struct OfSize {
    int64_t images = 0;
    double log_seconds = 0;  // sum over the images of the logarithm of the time per image
  };
  static constexpr int kSizes = 8;  // sizes 1, 2 to 3, 4 to 7, ..., 128 and more
  std::array<OfSize, kSizes> sizes = {};

  friend ComputeTimes operator-(const ComputeTimes& later, const ComputeTimes& earlier);
};

// Compute times of a version since its load. Thread-safe.
class ComputeRecord {
 public:
  // Adds a batch of `images` (at least 1) that took `spent`.
  void Add(int64_t images, absl::Duration spent);
  ComputeTimes Read() const;

 private:
  mutable Mutex mutex_;
  ComputeTimes times_ ABSL_GUARDED_BY(mutex_);
};

// Result of comparing one version with another.
struct ComputeComparison {
  int64_t images = 0;  // number of images per version that could be compared
  double ratio = 0;    // time per image of `version`, divided by the time per image of `other`; 0: nothing to compare
};

// Compares batches of equal size. The weight of each size is the image count of the version with fewer images of this
// size. The mean is geometric, so that a few slow batches, such as the first after a load, have little effect.
ComputeComparison Compare(const ComputeTimes& version, const ComputeTimes& other);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_VERSION_COMPUTE_TIMES_H_
