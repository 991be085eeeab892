// SPDX-License-Identifier: Apache-2.0
#include "common/data/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace vitrine {
namespace {

class Work {
 public:
  Work(int64_t count, const std::function<absl::Status(int64_t)>& work) : count_(count), work_(work) {}

  // Takes one index after another, until no index is left or any thread has failed.
  void Take() {
    for (int64_t index; !failed_ && (index = next_++) < count_;) {
      absl::Status status = work_(index);
      if (status.ok()) continue;
      absl::MutexLock lock(&mutex_);
      if (index < failed_index_) {
        failed_index_ = index;
        status_ = std::move(status);
      }
      failed_ = true;
    }
  }

  absl::Status status() {
    absl::MutexLock lock(&mutex_);
    return status_;
  }

 private:
  const int64_t count_;
  const std::function<absl::Status(int64_t)>& work_;
  std::atomic<int64_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  absl::Mutex mutex_;
  int64_t failed_index_ ABSL_GUARDED_BY(mutex_) = INT64_MAX;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Status ParallelFor(int64_t count, int threads, const std::function<absl::Status(int64_t)>& work) {
  Work shared(count, work);
  std::vector<std::thread> others;
  for (int64_t i = 1; i < std::min<int64_t>(threads, count); ++i) others.emplace_back([&shared] { shared.Take(); });
  shared.Take();
  for (std::thread& other : others) other.join();
  return shared.status();
}

}  // namespace vitrine
