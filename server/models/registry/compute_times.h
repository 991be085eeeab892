// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_COMPUTE_TIMES_H_
#define VITRINE_SERVER_MODELS_REGISTRY_COMPUTE_TIMES_H_

#include <array>
#include <cstdint>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace vitrine {

// How long a version computes for a picture: the forward pass of its batch, divided by the pictures in it. Not the time
// that a caller waits, most of which may be the queue that all versions share. Kept by the size of the batch, in powers
// of two: a picture's part of a full batch is less than what it takes alone, and a version with a small share of the
// traffic meets smaller batches.
struct ComputeTimes {
  struct OfSize {
    int64_t pictures = 0;
    double log_seconds = 0;  // sum over the pictures of the logarithm of the time of each
  };
  static constexpr int kSizes = 8;  // 1, 2 and 3, 4 to 7, ..., 128 and more
  std::array<OfSize, kSizes> sizes = {};

  friend ComputeTimes operator-(const ComputeTimes& later, const ComputeTimes& earlier);
};

// What a version has computed since it was loaded. Thread-safe.
class ComputeRecord {
 public:
  // A batch of `pictures`, at least 1, took `spent`.
  void Add(int64_t pictures, absl::Duration spent);
  ComputeTimes Read() const;

 private:
  mutable Mutex mutex_;
  ComputeTimes times_ ABSL_GUARDED_BY(mutex_);
};

// One version against another.
struct ComputeComparison {
  int64_t pictures = 0;  // of each version that could be compared
  double ratio = 0;      // time of a picture, as a multiple of the other version's; 0: none could be compared
};

// Compares batches of one size with batches of that size, each size with the weight of the version that has fewer
// pictures of it. The mean is geometric, so that a few slow batches, as the first ones after a load, move it little.
ComputeComparison Compare(const ComputeTimes& version, const ComputeTimes& other);

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_COMPUTE_TIMES_H_
