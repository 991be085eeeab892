// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_DEVICE_STATUS_H_
#define VITRINE_MODELS_ENGINE_DEVICE_STATUS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace vitrine {

// Memory of a model on a device that has its own.
struct DeviceMemory {
  int64_t device_bytes = 0;  // weights, and memory for batches
  int64_t pinned_bytes = 0;  // of the host, for copies
};

// State and work of an open device with memory of its own. Counts begin with the process.
struct DeviceStatus {
  int64_t free_bytes = 0, total_bytes = 0;  // memory, with what other processes use
  int64_t batches = 0;                      // that were launched
  int64_t images = 0;                       // in these batches
  int64_t uploaded_bytes = 0;
  absl::Duration busy;  // with at least one batch between its launch and its end
};

// Limits of the batches that such a device computes.
struct DeviceBatch {
  int images = 256;
  int tokens = 32768;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_ENGINE_DEVICE_STATUS_H_
