// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_BACKEND_H_
#define VITRINE_MODELS_ENGINE_BACKEND_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "models/attention_tap.h"
#include "models/engine/device_status.h"
#include "models/engine/image_planes.h"
#include "models/engine/workspace.h"
#include "models/token_tap.h"

namespace vitrine {

// A model with its weights on a device: the compiled engine on the CPU, or libvitrine_cuda.so on a GPU
// (models/engine/cuda_library.h). Immutable; thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;

  // Computes the logits [images, classes] in fp32, and the values that the taps request; a tap may be null. Requires at
  // least one image; the model must accept each. `workspace` belongs to the calling thread and may be used with any
  // model. RESOURCE_EXHAUSTED if the device has too little memory, UNAVAILABLE once it is lost, else INTERNAL.
  virtual absl::Status Run(std::span<const engine::ImagePlanes> images, engine::Workspace& workspace, float* logits,
                           AttentionTap* attention, TokenTap* tokens) const = 0;
  // Bytes saved by narrow weights, compared to fp32.
  virtual int64_t saved_bytes() const { return 0; }
  // Returns zeros for a model in the process's own memory.
  virtual DeviceMemory device_memory() const { return {}; }
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_ENGINE_BACKEND_H_
