// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_ARENA_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_ARENA_H_

#include <cstddef>
#include <span>
#include <vector>

#include "models/engine/cuda/launches/device.h"

namespace vitrine::cuda {

// Memory of the plans of one engine. The plans never run at the same time, so they share the memory.
class Arena {
 public:
  // Adds the sizes in bytes of the buffers that one plan needs at the same time. Must be called before Allocate.
  void Reserve(std::span<const size_t> sizes);
  // Allocates the memory. RESOURCE_EXHAUSTED if the device does not have enough.
  absl::Status Allocate(Buffers& buffers);
  // Returns one address per size of a plan, in the order of `sizes`.
  std::vector<std::byte*> PlacesOf(std::span<const size_t> sizes) const;

 private:
  std::vector<size_t> sizes_;  // largest first
  std::vector<std::byte*> places_;
};

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_ARENA_H_
