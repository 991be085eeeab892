// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_BACKEND_H_
#define VITRINE_MODELS_ENGINE_CUDA_BACKEND_H_

#include <memory>

#include "absl/status/statusor.h"
#include "models/engine/backend.h"
#include "models/engine/cuda/driver/slot.h"
#include "models/engine/cuda/engine.h"

namespace vitrine::cuda {

struct BackendOptions {
  EngineOptions engine = {};
  driver::SlotOptions slot = {};
  int slots = 2;  // batches that the device computes at the same time
};

// Puts a model onto a card, which must outlive it: weights once, and for each slot memory for a batch and a graph.
// A batch waits for a free slot. One that exceeds the limits runs in parts, unless values are tapped: then it is
// RESOURCE_EXHAUSTED, like a single image that exceeds them. Errors of Engine::Make; INVALID_ARGUMENT without a slot.
absl::StatusOr<std::unique_ptr<const Backend>> MakeBackend(driver::Card& card, const program::Program& program,
                                                           engine::WeightSource& weights,
                                                           const BackendOptions& options = {});

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_BACKEND_H_
