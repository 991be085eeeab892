// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_WORKSPACE_H_
#define VITRINE_MODELS_ENGINE_WORKSPACE_H_

#include <memory>

namespace vitrine::engine {

class Team;

// Memory that one thread reuses between computations, with any model.
class Workspace {
 public:
  // State that a back end keeps between calls.
  class Memory {
   public:
    virtual ~Memory() = default;
  };

  // Returns the workspace's memory; replaces it first if it is not of type Own.
  template <class Own>
  Own& Of() {
    auto* own = dynamic_cast<Own*>(memory_.get());
    if (own == nullptr) {
      memory_ = std::make_unique<Own>();
      own = static_cast<Own*>(memory_.get());
    }
    return *own;
  }

  // Threads that share the work with the workspace's own thread, if the back end supports teams; may be null. The team
  // must outlive the computation.
  Team* team = nullptr;

 private:
  std::unique_ptr<Memory> memory_;
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_WORKSPACE_H_
