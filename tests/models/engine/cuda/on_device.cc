// SPDX-License-Identifier: Apache-2.0
#include "tests/models/engine/cuda/on_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/models/reference/images.h"

namespace vitrine::testing {
OnDevice::OnDevice(const program::Program& program, std::span<const float* const> weights,
                   const cuda::EngineOptions& options, const cuda::emulated::MachineOptions& machine)
    : device_(machine), source_(std::make_unique<PoisonedWeights>(program, weights)) {
  absl::StatusOr<std::unique_ptr<cuda::Engine>> made = cuda::Engine::Make(program, *source_, device_, options);
  EXPECT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(source_->released().size(), weights.size());
  if (made.ok()) engine_ = std::move(*made);
}

std::vector<float> OnDevice::Logits(std::span<const cuda::ImagePlanes> images, AttentionTap* attention,
                                    TokenTap* tokens) {
  if (engine_ == nullptr) return {};
  std::vector<float> logits(images.size() * static_cast<size_t>(engine_->plan().classes), NAN);
  const absl::Status status = engine_->Run(images, logits.data(), attention, tokens);
  EXPECT_TRUE(status.ok()) << status;
  return logits;
}

std::vector<std::string> OnDevice::Kernels() const {
  std::vector<std::string> kernels;
  if (engine_ == nullptr) return kernels;
  for (const cuda::Launch& launch : engine_->plan().launches) kernels.push_back(launch.kernel);
  return kernels;
}

at::Tensor CudaForm::Sized(size_t size, uint64_t seed) const {
  const auto [height, width] = GetParam().sizes[size % GetParam().sizes.size()];
  return RandomImage(GetParam().config.preprocessing().channels(), height, width, seed);
}

std::vector<at::Tensor> CudaForm::Images(size_t count) const {
  std::vector<at::Tensor> images;
  for (size_t i = 0; i < count; ++i) images.push_back(Sized(i, 1 + i));
  return images;
}

bool CudaForm::IsFirstOfFamily() {
  const std::vector<EngineForm> forms = EngineForms();
  const auto first = std::find_if(forms.begin(), forms.end(), [](const EngineForm& form) {
    return form.config.family_case() == GetParam().config.family_case();
  });
  return first->name == GetParam().name;
}

std::vector<cuda::ImagePlanes> CudaForm::Views(const std::vector<at::Tensor>& images) {
  std::vector<cuda::ImagePlanes> views;
  for (const at::Tensor& image : images) views.push_back(View(image));
  return views;
}

}  // namespace vitrine::testing
