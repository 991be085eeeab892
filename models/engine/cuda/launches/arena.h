// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_ARENA_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_ARENA_H_

#include <cstddef>
#include <span>
#include <vector>

#include "models/engine/cuda/launches/device.h"

namespace vitrine::cuda {

// Memory of the plans of one engine. They never run at the same time, so each uses all of it.
class Arena {
 public:
  // Adds the sizes in bytes of what one plan needs at the same time. Before Allocate.
  void Reserve(std::span<const size_t> sizes);
  // RESOURCE_EXHAUSTED if the device has not enough memory.
  absl::Status Allocate(Buffers& buffers);
  // Returns a place for each of a plan's sizes, in their order.
  std::vector<std::byte*> PlacesOf(std::span<const size_t> sizes) const;

 private:
  std::vector<size_t> sizes_;  // the largest first
  std::vector<std::byte*> places_;
};

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_ARENA_H_
