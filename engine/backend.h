// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_BACKEND_H_
#define VITRINE_ENGINE_BACKEND_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "engine/picture.h"
#include "engine/workspace.h"
#include "models/attention_tap.h"
#include "models/token_tap.h"

namespace vitrine {

// A model with weights on what computes it: the compiled engine on the CPU, LibTorch on other devices
// (engine/torch_library.h). Knows neither, so that another can be added. Immutable; thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;

  // Logits [pictures, classes] fp32 of pictures that the model takes, one at least. What is asked of the taps, which
  // may be null, is computed beside them. `workspace` is the calling thread's; models share it. RESOURCE_EXHAUSTED
  // where a device has no memory, INTERNAL for its other errors; throws std::bad_alloc where this machine has none.
  virtual absl::Status Run(std::span<const engine::Picture> pictures, engine::Workspace& workspace, float* logits,
                           AttentionTap* attention, TokenTap* tokens) const = 0;
  // Bytes that the weights take less than as fp32.
  virtual int64_t saved_bytes() const { return 0; }
};

}  // namespace vitrine

#endif  // VITRINE_ENGINE_BACKEND_H_
