// SPDX-License-Identifier: Apache-2.0
#include "server/models/registry/reclaimer.h"

#include <list>
#include <utility>

#include "base/mutex.h"

namespace vitrine {

struct Reclaimer::Waiting {
  using Models = std::list<ModelHandle>;

  // Takes what the list holds, which is left with it once closed. Allocates nothing: whoever drops a handle may have
  // no memory, and may not throw.
  void Add(Models& dropped) {
    MutexLock lock(mutex);
    if (wake == nullptr) return;
    models.splice(models.end(), dropped);
    wake();
  }
  // To be freed without the lock.
  Models Take() {
    MutexLock lock(mutex);
    return std::exchange(models, {});
  }
  void Close() {
    MutexLock lock(mutex);
    wake = nullptr;
  }

  Mutex mutex;
  std::function<void()> wake ABSL_GUARDED_BY(mutex);  // null: closed
  Models models ABSL_GUARDED_BY(mutex);
};

Reclaimer::Reclaimer(std::function<void()> wake) : waiting_(std::make_shared<Waiting>()) {
  MutexLock lock(waiting_->mutex);
  waiting_->wake = std::move(wake);
}

Reclaimer::~Reclaimer() {
  waiting_->Close();
  Reclaim();
}

ModelHandle Reclaimer::Keep(ModelHandle model) const {
  const LoadedModel* const raw = model.get();
  return {raw, [waiting = waiting_, kept = Waiting::Models{std::move(model)}](const LoadedModel*) mutable {
            waiting->Add(kept);
            kept.clear();
          }};
}

void Reclaimer::Reclaim() {
  waiting_->Take();
}

}  // namespace vitrine
