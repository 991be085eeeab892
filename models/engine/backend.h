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

// A model with its weights on a device. The implementations are the compiled engine (CPU), the engine of
// libvitrine_cuda.so (GPU, models/engine/cuda_library.h) and the LibTorch reference. Immutable; thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;

  // Computes the logits [images, classes] in fp32, and the values that `attention` and `tokens` request; both may be
  // null. Requires at least one image; the model must accept each image. `workspace` belongs to the calling thread and
  // may be used with any model. RESOURCE_EXHAUSTED if the device has too little memory, UNAVAILABLE if the device is
  // lost, INTERNAL for other errors.
  virtual absl::Status Run(std::span<const engine::ImagePlanes> images, engine::Workspace& workspace, float* logits,
                           AttentionTap* attention, TokenTap* tokens) const = 0;
  // Returns the bytes that weights in bf16 or int8 save, compared to fp32.
  virtual int64_t saved_bytes() const { return 0; }
  // Returns the memory that the model uses on its device; zeros on the CPU.
  virtual DeviceMemory device_memory() const { return {}; }
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_ENGINE_BACKEND_H_
