// SPDX-License-Identifier: Apache-2.0
#include "server/registry/reclaimer.h"

#include <utility>
#include <vector>

#include "base/mutex.h"

namespace vitrine {

struct Reclaimer::Waiting {
  // A model that is not taken is freed when this returns.
  void Add(ModelHandle model) {
    MutexLock lock(mutex);
    if (wake == nullptr) return;
    models.push_back(std::move(model));
    wake();
  }
  // To be freed without the lock.
  std::vector<ModelHandle> Take() {
    MutexLock lock(mutex);
    return std::exchange(models, {});
  }
  void Close() {
    MutexLock lock(mutex);
    wake = nullptr;
  }

  Mutex mutex;
  std::function<void()> wake ABSL_GUARDED_BY(mutex);  // null: closed
  std::vector<ModelHandle> models ABSL_GUARDED_BY(mutex);
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
  return {raw, [waiting = waiting_, model = std::move(model)](const LoadedModel*) mutable {
            waiting->Add(std::move(model));
          }};
}

void Reclaimer::Reclaim() {
  waiting_->Take();
}

}  // namespace vitrine
