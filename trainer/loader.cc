// SPDX-License-Identifier: Apache-2.0
#include "trainer/loader.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/time/clock.h"

namespace vitrine {

BatchLoader::BatchLoader(const Task& task, const StepPlan& plan, int64_t first_step, const Options& options)
    : task_(task),
      plan_(plan),
      options_(options),
      started_(first_step * plan.accumulate),
      wanted_(first_step * plan.accumulate) {
  for (int i = 0; i < std::max(1, options.threads); ++i) threads_.emplace_back([this] { Work(); });
}

BatchLoader::~BatchLoader() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

bool BatchLoader::MayStart() const {
  return stopping_ || started_ >= End() || started_ < wanted_ + std::max(1, options_.ahead);
}

void BatchLoader::Work() {
  int64_t order_epoch = -1;
  std::vector<Member> order;
  while (true) {
    int64_t number;
    {
      MutexLock lock(mutex_);
      while (!MayStart()) changed_.Wait(mutex_);
      if (stopping_ || started_ >= End()) return;
      number = started_++;
    }
    const int64_t step = number / plan_.accumulate;
    const int64_t epoch = step / plan_.steps_per_epoch;
    if (epoch != order_epoch) {
      order = task_.EpochMembers(epoch);
      order_epoch = epoch;
    }
    const int64_t index = step % plan_.steps_per_epoch * plan_.batches_per_step() +
                          number % plan_.accumulate * plan_.processes + options_.rank;
    const std::span<const Member> members(&order[index * plan_.batch], plan_.batch);
    absl::StatusOr<TrainingBatch> batch = task_.MakeBatch(epoch, index, members);
    {
      MutexLock lock(mutex_);
      made_.emplace(number, std::move(batch));
    }
    changed_.NotifyAll();
  }
}

absl::StatusOr<TrainingBatch> BatchLoader::Next() {
  const absl::Time start = absl::Now();
  MutexLock lock(mutex_);
  if (wanted_ >= End()) return absl::OutOfRangeError("all batches were already returned");
  while (!NextIsMade()) changed_.Wait(mutex_);
  waited_ += absl::Now() - start;
  auto made = made_.extract(wanted_++);
  changed_.NotifyAll();
  return std::move(made.mapped());
}

}  // namespace vitrine
