// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_EMULATED_EMULATED_DEVICE_H_
#define VITRINE_MODELS_ENGINE_CUDA_EMULATED_EMULATED_DEVICE_H_

#include "models/engine/cuda/emulated/machine.h"
#include "models/engine/cuda/launches/device.h"

namespace vitrine::cuda::emulated {

// Runs launches on a Machine. A fault becomes an INTERNAL error that begins with the step's name.
class EmulatedDevice : public Device {
 public:
  explicit EmulatedDevice(const MachineOptions& options = {}) : machine_(options) {}

  Machine& machine() { return machine_; }
  void* Allocate(size_t bytes) override { return machine_.memory().Allocate(bytes); }
  void Free(void* buffer) override { machine_.memory().Free(buffer); }
  absl::Status Upload(void* to, const void* from, size_t bytes) override;
  absl::Status Download(void* to, const void* from, size_t bytes) override;
  absl::Status Run(const Launch& launch) override;

 private:
  Machine machine_;
};

}  // namespace vitrine::cuda::emulated

#endif  // VITRINE_MODELS_ENGINE_CUDA_EMULATED_EMULATED_DEVICE_H_
