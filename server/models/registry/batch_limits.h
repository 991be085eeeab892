// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_BATCH_LIMITS_H_
#define VITRINE_SERVER_MODELS_REGISTRY_BATCH_LIMITS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace vitrine {

// Longest wait for company that may be asked for.
inline constexpr absl::Duration kLongestBatchWait = absl::Seconds(10);

// What a batch of one model may take, and how long it waits: as in BatchOptions.
struct BatchLimits {
  int64_t max_batch_tokens = 0;
  int max_batch_images = 0;
  int64_t max_batch_pixels = 0;
  absl::Duration max_wait;

  friend bool operator==(const BatchLimits&, const BatchLimits&) = default;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_BATCH_LIMITS_H_
