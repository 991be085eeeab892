// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_DEVICE_STATUS_H_
#define VITRINE_MODELS_ENGINE_DEVICE_STATUS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace vitrine {

// Memory of a model on a device that has its own memory.
struct DeviceMemory {
  int64_t device_bytes = 0;  // memory for weights and batches
  int64_t pinned_bytes = 0;  // pinned host memory for copies
};

// State and work of an open device with its own memory. All counts are 0 when the process starts.
struct DeviceStatus {
  int64_t free_bytes = 0, total_bytes = 0;  // memory that other processes use is not free
  int64_t batches = 0;                      // batches launched
  int64_t images = 0;                       // images in these batches
  int64_t uploaded_bytes = 0;
  absl::Duration busy;  // time during which at least one batch ran
};

// Limits of a batch on a device that has its own memory.
struct DeviceBatch {
  int images = 256;
  int tokens = 32768;
  // Longest time for which the device may finish no batch although batches run. The device counts as lost after this
  // time, or if one batch takes six times as long. With the default, a client with the default deadline of 30 s has
  // time to get its answer from another server. A full batch of a large model on a small device can take longer: 21 T
  // multiply-adds of ViT-H/14 take 10 s at 4 TFLOPS. Such a model needs a larger timeout, or fewer tokens.
  absl::Duration timeout = absl::Seconds(10);
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_ENGINE_DEVICE_STATUS_H_
