// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <list>
#include <memory>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "engine/cpu/steps/steps.h"

namespace vitrine::engine {
namespace {

// Clients choose the grids, so what is kept for them has a bound.
constexpr size_t kMostFloats = 1 << 20;

// What was made for the grids of late. Thread-safe; makes rows outside of its lock.
class KeptRows {
 public:
  using Rows = std::shared_ptr<const std::vector<float>>;

  explicit KeptRows(PositionRows make) : make_(std::move(make)) {}

  Rows For(Grid grid) {
    if (Rows found = Find(grid)) return found;
    auto made = std::make_shared<const std::vector<float>>(make_(grid));
    const absl::MutexLock lock(&mutex_);
    if (Rows found = FindLocked(grid)) return found;  // another thread was faster
    kept_.push_front({grid, made});
    floats_ += made->size();
    while (floats_ > kMostFloats && kept_.size() > 1) {
      floats_ -= kept_.back().second->size();
      kept_.pop_back();
    }
    return made;
  }

 private:
  Rows Find(Grid grid) {
    const absl::MutexLock lock(&mutex_);
    return FindLocked(grid);
  }

  Rows FindLocked(Grid grid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const auto& entry) { return entry.first == grid; });
    if (found == kept_.end()) return nullptr;
    kept_.splice(kept_.begin(), kept_, found);
    return kept_.front().second;
  }

  const PositionRows make_;
  absl::Mutex mutex_;
  std::list<std::pair<Grid, Rows>> kept_ ABSL_GUARDED_BY(mutex_);  // the one used last comes first
  size_t floats_ ABSL_GUARDED_BY(mutex_) = 0;
};

class AddPositions : public Step {
 public:
  AddPositions(Operand x, Operand y, PositionRows rows)
      : x_(x), y_(y), rows_(std::make_unique<KeptRows>(std::move(rows))) {
    reads = {x};
    writes = y;
  }
  void Run(const Frame& frame) const override {
    for (int image = 0; image < frame.images(); ++image) {
      const KeptRows::Rows rows = rows_->For(frame.grid(image));
      const View<float> x = frame.Of(x_, image);
      const View<const float> positions{rows->data(), x.rows, x.columns, x.columns};
      frame.kernels().add(frame.ShareOf(x), frame.ShareOf(positions), frame.ShareOf(frame.Of(y_, image)));
    }
  }

 private:
  const Operand x_, y_;
  const std::unique_ptr<KeptRows> rows_;
};

}  // namespace

StepPtr MakeAddPositions(Operand x, Operand y, PositionRows rows) {
  return std::make_unique<AddPositions>(x, y, std::move(rows));
}

}  // namespace vitrine::engine
