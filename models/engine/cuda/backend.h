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
  driver::SlotOptions slot = {};  // MakeBackend computes pinned_bytes from the engine's limits
  // Maximum number of batches at once: one batch is filled while the other batches are computed.
  int slots = 2;
};

// Loads a model onto a GPU (`card`), which must outlive the result. Uploads the weights once. For each slot, makes a
// CUDA graph and allocates the memory of one batch. Images of concurrent calls share batches (see Batcher). Images that
// together exceed the limits of a batch run in several batches. Run returns RESOURCE_EXHAUSTED if one image exceeds
// these limits, or if the images of a call with taps together exceed them. Returns the errors of Engine::Make;
// RESOURCE_EXHAUSTED also names the bytes needed and free. INVALID_ARGUMENT if `options.slots` is below 1.
absl::StatusOr<std::unique_ptr<const Backend>> MakeBackend(driver::Card& card, const program::Program& program,
                                                           engine::WeightSource& weights,
                                                           const BackendOptions& options = {});

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_BACKEND_H_
