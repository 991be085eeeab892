// SPDX-License-Identifier: Apache-2.0
#include "server/registry/reclaimer.h"

#include <list>
#include <utility>

#include "common/mutex.h"

namespace vitrine {

// Shared with the handles, which may outlive the reclaimer.
struct Reclaimer::Waiting {
  explicit Waiting(std::function<void()> call) : wake(std::move(call)) {}

  Mutex mutex;
  std::function<void()> wake ABSL_GUARDED_BY(mutex);  // null: the reclaimer is gone
  std::list<ModelHandle> models ABSL_GUARDED_BY(mutex);
};

Reclaimer::Reclaimer(std::function<void()> wake) : waiting_(std::make_shared<Waiting>(std::move(wake))) {}

Reclaimer::~Reclaimer() {
  {
    MutexLock lock(waiting_->mutex);
    waiting_->wake = nullptr;
  }
  Reclaim();
}

// Dropping the last handle allocates nothing: the thread that does may have no memory, and must not throw.
ModelHandle Reclaimer::Keep(ModelHandle model) const {
  const LoadedModel* const raw = model.get();
  return {raw, [waiting = waiting_, kept = std::list<ModelHandle>{std::move(model)}](const LoadedModel*) mutable {
            std::list<ModelHandle> dropped;  // freed here, without the lock, if there is no reclaimer
            dropped.swap(kept);
            MutexLock lock(waiting->mutex);
            if (waiting->wake == nullptr) return;
            waiting->models.splice(waiting->models.end(), dropped);
            waiting->wake();
          }};
}

void Reclaimer::Reclaim() {
  std::list<ModelHandle> freed;  // freed after the lock is released
  MutexLock lock(waiting_->mutex);
  freed.swap(waiting_->models);
}

}  // namespace vitrine
