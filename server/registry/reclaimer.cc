// SPDX-License-Identifier: Apache-2.0
#include "server/registry/reclaimer.h"

#include <utility>
#include <vector>

#include "common/mutex.h"

namespace vitrine {

// State shared with the handles, which may outlive the reclaimer.
struct Reclaimer::Waiting {
  explicit Waiting(std::function<void()> call) : wake(std::move(call)) {}

  Mutex mutex;
  std::function<void()> wake ABSL_GUARDED_BY(mutex);  // null: the reclaimer is gone
  std::vector<ModelHandle> models ABSL_GUARDED_BY(mutex);
};

Reclaimer::Reclaimer(std::function<void()> wake) : waiting_(std::make_shared<Waiting>(std::move(wake))) {}

Reclaimer::~Reclaimer() {
  {
    MutexLock lock(waiting_->mutex);
    waiting_->wake = nullptr;
  }
  Reclaim();
}

ModelHandle Reclaimer::Keep(ModelHandle model) const {
  const LoadedModel* const raw = model.get();
  return {raw, [waiting = waiting_, kept = std::move(model)](const LoadedModel*) mutable {
            // if the reclaimer is gone, the model is freed at the end of this block, after the lock is released
            ModelHandle dropped = std::move(kept);
            MutexLock lock(waiting->mutex);
            if (waiting->wake == nullptr) return;
            waiting->models.push_back(std::move(dropped));
            waiting->wake();
          }};
}

void Reclaimer::Reclaim() {
  std::vector<ModelHandle> freed;  // models that are freed after the lock is released
  MutexLock lock(waiting_->mutex);
  freed.swap(waiting_->models);
}

}  // namespace vitrine
