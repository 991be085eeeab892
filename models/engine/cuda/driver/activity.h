// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_DRIVER_ACTIVITY_H_
#define VITRINE_MODELS_ENGINE_CUDA_DRIVER_ACTIVITY_H_

#include <atomic>
#include <chrono>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/mutex.h"

namespace vitrine::cuda::driver {

// Counts batches and images, and measures the busy time of a device. Thread-safe.
class Activity {
 public:
  struct Counts {
    int64_t batches = 0;
    int64_t images = 0;
    int64_t uploaded_bytes = 0;
    absl::Duration busy;  // time during which at least one batch ran
  };

  void Begin(int64_t images) {
    const MutexLock lock(mutex_);
    if (running_++ == 0) since_ = Clock::now();
    ++counts_.batches;
    counts_.images += images;
  }
  void End() {
    const MutexLock lock(mutex_);
    if (--running_ == 0) counts_.busy += absl::FromChrono(Clock::now() - since_);
  }
  void CountUpload(int64_t bytes) { uploaded_bytes_.fetch_add(bytes, std::memory_order_relaxed); }

  Counts counts() const {
    const MutexLock lock(mutex_);
    Counts counts = counts_;
    counts.uploaded_bytes = uploaded_bytes_.load(std::memory_order_relaxed);
    if (running_ > 0) counts.busy += absl::FromChrono(Clock::now() - since_);
    return counts;
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::atomic<int64_t> uploaded_bytes_ = 0;
  mutable Mutex mutex_;
  Counts counts_ ABSL_GUARDED_BY(mutex_);
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  Clock::time_point since_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine::cuda::driver

#endif  // VITRINE_MODELS_ENGINE_CUDA_DRIVER_ACTIVITY_H_
