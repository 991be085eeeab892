// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_SETTINGS_BATCH_LIMITS_H_
#define VITRINE_SERVER_REGISTRY_SETTINGS_BATCH_LIMITS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace vitrine {

// Upper limit of BatchLimits::max_wait.
inline constexpr absl::Duration kLongestBatchWait = absl::Seconds(10);

// Batch limits of one model; the fields are as in BatchOptions.
struct BatchLimits {
  int64_t max_batch_tokens = 0;
  int max_batch_images = 0;
  int64_t max_batch_pixels = 0;
  absl::Duration max_wait;

  friend bool operator==(const BatchLimits&, const BatchLimits&) = default;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_SETTINGS_BATCH_LIMITS_H_
