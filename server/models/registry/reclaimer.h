// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_RECLAIMER_H_
#define VITRINE_SERVER_MODELS_REGISTRY_RECLAIMER_H_

#include <functional>
#include <memory>

#include "server/models/registry/loaded_model.h"

namespace vitrine {

// Frees models on a thread that has time for it: whoever drops the last handle of a version, an executor for instance,
// only hands it over. Thread-safe.
class Reclaimer {
 public:
  // `wake` is called whenever something waits for Reclaim, from any thread; it must not block, nor drop a handle.
  explicit Reclaimer(std::function<void()> wake);
  // Frees what waits. Handles that are still held free their models themselves.
  ~Reclaimer();
  Reclaimer(const Reclaimer&) = delete;
  Reclaimer& operator=(const Reclaimer&) = delete;

  // The same model, to be freed by Reclaim once no copy of the result is left.
  ModelHandle Keep(ModelHandle model) const;
  // Frees what waits, on this thread.
  void Reclaim();

 private:
  struct Waiting;
  const std::shared_ptr<Waiting> waiting_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_RECLAIMER_H_
