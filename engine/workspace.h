// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_WORKSPACE_H_
#define VITRINE_ENGINE_WORKSPACE_H_

#include <memory>

namespace vitrine::engine {

class Team;

// What a thread computes in, for any models. One thread's.
class Workspace {
 public:
  // What a back end keeps from one call to the next.
  class Memory {
   public:
    virtual ~Memory() = default;
  };

  // The memory of that kind, made where the last back end had another.
  template <class Own>
  Own& Of() {
    auto* own = dynamic_cast<Own*>(memory_.get());
    if (own == nullptr) {
      memory_ = std::make_unique<Own>();
      own = static_cast<Own*>(memory_.get());
    }
    return *own;
  }

  // Threads that compute with the workspace's own, if the back end has such; null: none. Gathered, and outlives what is
  // computed.
  Team* team = nullptr;

 private:
  std::unique_ptr<Memory> memory_;
};

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_WORKSPACE_H_
