// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_KEPT_FOR_GRIDS_H_
#define VITRINE_MODELS_KEPT_FOR_GRIDS_H_

#include <algorithm>
#include <cstdint>
#include <list>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "models/token_layout.h"

namespace vitrine {

// LRU cache of values by grid. Its size in bytes is limited, because clients choose the grids. The newest value stays
// even if it is larger than the limit. Thread-safe.
template <class Value>
class GridCache {
 public:
  explicit GridCache(int64_t most_bytes) : most_bytes_(most_bytes) {}

  // Returns the cached value of the grid. If there is none, stores and returns the value from `make`, which returns a
  // value and its size in bytes. `make` runs without a lock.
  Value For(Grid grid, absl::FunctionRef<std::pair<Value, int64_t>()> make) {
    {
      const absl::MutexLock lock(&mutex_);
      if (Find(grid)) return kept_.front().value;
    }
    auto [value, bytes] = make();
    const absl::MutexLock lock(&mutex_);
    if (Find(grid)) return kept_.front().value;  // another thread stored the value first
    kept_.push_front({grid, value, bytes});
    bytes_ += bytes;
    while (bytes_ > most_bytes_ && kept_.size() > 1) {
      bytes_ -= kept_.back().bytes;
      kept_.pop_back();
    }
    return value;
  }

  int64_t bytes() const {
    const absl::MutexLock lock(&mutex_);
    return bytes_;
  }

 private:
  struct Kept {
    Grid grid;
    Value value;
    int64_t bytes = 0;
  };

  // Moves the entry of the grid to the front. Returns false if there is none.
  bool Find(Grid grid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& each) { return each.grid == grid; });
    if (found == kept_.end()) return false;
    kept_.splice(kept_.begin(), kept_, found);
    return true;
  }

  const int64_t most_bytes_;
  mutable absl::Mutex mutex_;
  std::list<Kept> kept_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_KEPT_FOR_GRIDS_H_
