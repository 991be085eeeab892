// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_RECLAIMER_H_
#define VITRINE_SERVER_REGISTRY_RECLAIMER_H_

#include <functional>
#include <memory>

#include "server/registry/version/loaded_model.h"

namespace vitrine {

// Frees models on a thread that does no serving work. When another thread, such as an executor, drops the last handle
// of a version, the model is only queued in this object. Thread-safe.
class Reclaimer {
 public:
  // `wake` is called when a model waits for Reclaim, on any thread; it must not block or drop a handle.
  explicit Reclaimer(std::function<void()> wake);
  // Frees the waiting models. A model that still has handles is freed when the last handle is dropped.
  ~Reclaimer();
  Reclaimer(const Reclaimer&) = delete;
  Reclaimer& operator=(const Reclaimer&) = delete;

  // Returns a handle of the same model. Reclaim frees the model after the last copy of the handle is dropped.
  ModelHandle Keep(ModelHandle model) const;
  // Frees the waiting models on this thread.
  void Reclaim();

 private:
  struct Waiting;
  const std::shared_ptr<Waiting> waiting_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_RECLAIMER_H_
