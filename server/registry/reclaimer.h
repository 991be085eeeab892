// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_RECLAIMER_H_
#define VITRINE_SERVER_REGISTRY_RECLAIMER_H_

#include <functional>
#include <memory>

#include "server/registry/version/loaded_model.h"

namespace vitrine {

// Frees models on a thread without other work: a thread that drops the last handle of a version, such as an executor,
// only hands the model over. Thread-safe.
class Reclaimer {
 public:
  // `wake` is called when a model waits for Reclaim, from any thread; it must not block or drop a handle.
  explicit Reclaimer(std::function<void()> wake);
  // Frees the waiting models. Models whose handles are still held are freed by their last handle.
  ~Reclaimer();
  Reclaimer(const Reclaimer&) = delete;
  Reclaimer& operator=(const Reclaimer&) = delete;

  // Returns a handle of the same model, which Reclaim frees once no copy of the handle is left.
  ModelHandle Keep(ModelHandle model) const;
  // Frees the waiting models on this thread.
  void Reclaim();

 private:
  struct Waiting;
  const std::shared_ptr<Waiting> waiting_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_RECLAIMER_H_
