// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_ENGINE_CUDA_ON_DEVICE_H_
#define VITRINE_TESTS_MODELS_ENGINE_CUDA_ON_DEVICE_H_

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/engine/cuda/emulated/emulated_device.h"
#include "models/engine/cuda/engine.h"
#include "models/program/program.h"
#include "tests/models/engine/compiled.h"

namespace vitrine::testing {

// Batch limits for a few small images.
inline constexpr cuda::BatchLimits kSmallBatch = {.images = 8, .cells = 512, .pixels = 1 << 17};

// A program that the CUDA engine runs on an emulated device.
class OnDevice {
 public:
  OnDevice(const program::Program& program, std::span<const float* const> weights,
           const cuda::EngineOptions& options = {.limits = kSmallBatch},
           const cuda::emulated::MachineOptions& machine = {});

  // Returns the logits, row by row. Fails the test if the emulator reports a fault.
  std::vector<float> Logits(std::span<const cuda::ImagePlanes> images, AttentionTap* attention = nullptr,
                            TokenTap* tokens = nullptr);
  // Returns the kernel name of every launch, in launch order.
  std::vector<std::string> Kernels() const;

 private:
  cuda::emulated::EmulatedDevice device_;
  std::unique_ptr<PoisonedWeights> source_;  // NaN after the engine has been made
  std::unique_ptr<cuda::Engine> engine_;
};

// A fixture with a small model and images for it.
class CudaForm : public ::testing::TestWithParam<EngineForm> {
 protected:
  at::Tensor Sized(size_t size, uint64_t seed) const;
  // Returns `count` images, whose sizes cycle through the sizes of the EngineForm.
  std::vector<at::Tensor> Images(size_t count) const;
  // Returns true for the first form of each family, for tests that would take too long for every form.
  static bool IsFirstOfFamily();
  static std::vector<cuda::ImagePlanes> Views(const std::vector<at::Tensor>& images);

  const Compiled compiled_{GetParam().config, cpu::CpuPath::kPortable};
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_ENGINE_CUDA_ON_DEVICE_H_
