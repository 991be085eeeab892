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
  driver::SlotOptions slot = {};  // pinned_bytes is chosen by the engine's limits
  int slots = 2;                  // batches: one is filled while the others are computed
};

// Puts a model onto a card, which must outlive it: weights once, and for each slot memory for a batch and a graph.
// Images of concurrent calls share batches (see Batcher). Images that exceed the limits run in parts, unless values are
// tapped: then they are RESOURCE_EXHAUSTED, like a single image that exceeds them. Errors of Engine::Make;
// RESOURCE_EXHAUSTED names the bytes that are needed and free; INVALID_ARGUMENT without a slot.
absl::StatusOr<std::unique_ptr<const Backend>> MakeBackend(driver::Card& card, const program::Program& program,
                                                           engine::WeightSource& weights,
                                                           const BackendOptions& options = {});

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_BACKEND_H_
