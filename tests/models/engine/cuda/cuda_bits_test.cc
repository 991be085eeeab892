// SPDX-License-Identifier: Apache-2.0
// Tests that the plain kernels give the same bits as CPU kernels that sum in the order of AVX-512 (lanes.h). This must
// hold in any batch, with any number of SMs and under any schedule.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "common/simd/cpu_path.h"
#include "tests/models/engine/cuda/lanes.h"
#include "tests/models/engine/cuda/on_device.h"

namespace vitrine::testing {
namespace {

// The CPU's AVX-512 kernels; null without AVX-512.
const engine::Kernels* const kAvx512 = engine::FindKernels(cpu::CpuPath::kAvx512);
const PrecisionChoice kInt8 = {.precision = Precision::kInt8, .kept = {}};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class CudaBits : public CudaForm {
 protected:
  std::vector<float> OnCpu(const std::vector<at::Tensor>& images, const PrecisionChoice& choice = {},
                           const engine::Kernels& kernels = kLaneKernels) const {
    return LogitsOnCpu(*compiled_.program, compiled_.weights, choice, Views(images), kernels);
  }
  std::vector<float> OnGpu(const std::vector<at::Tensor>& images, const PrecisionChoice& choice = {},
                           const cuda::emulated::MachineOptions& machine = {}, bool has_bf16 = true) const {
    OnDevice device(*compiled_.program, compiled_.weights,
                    {.limits = kSmallBatch, .choice = choice, .has_bf16 = has_bf16}, machine);
    return device.Logits(Views(images));
  }
};

TEST_P(CudaBits, EqualTheCpuBitsInFp32) {
  const std::vector<at::Tensor> images = Images(3);
  const std::vector<float> logits = OnGpu(images);
  EXPECT_TRUE(SameBits(logits, OnCpu(images)));
  if (kAvx512 == nullptr) return;
  // For softmax, the AVX-512 kernels approximate the inverse of the sum with an instruction whose results depend on the
  // CPU's vendor.
  const std::vector<float> on_avx512 = OnCpu(images, {}, *kAvx512);
  EXPECT_LE(Apart(logits, on_avx512), 1e-6);
  const std::string& name = GetParam().name;
  if (name.starts_with("xvit") && name != "xvit_softmax" && name != "xvit_xca") {
    EXPECT_TRUE(SameBits(logits, on_avx512));
  }
}

TEST(CudaBitsOfAvx512, AreCompared) {
  if (kAvx512 == nullptr) GTEST_SKIP() << "this CPU has no AVX-512";
}

// The sums of bf16 products differ between CPU and GPU. Therefore operators that would use bf16 in an int8 model use
// fp32 here.
TEST_P(CudaBits, EqualTheCpuBitsInInt8) {
  const std::vector<at::Tensor> images = Images(3);
  EXPECT_TRUE(SameBits(OnGpu(images, kInt8, {}, /*has_bf16=*/false), OnCpu(images, kInt8)));
}

// Tests bf16 for every form, because it uses most of the fast kernels, and the other precisions for one form per
// family.
TEST_P(CudaBits, DoNotDependOnSmsAndSchedule) {
  const std::vector<at::Tensor> images = Images(2);
  for (const Precision precision : {Precision::kBf16, Precision::kFp32, Precision::kInt8}) {
    if (precision != Precision::kBf16 && !IsFirstOfFamily()) continue;
    const PrecisionChoice choice = {.precision = precision, .kept = {}};
    const std::vector<float> logits = OnGpu(images, choice);
    EXPECT_TRUE(SameBits(OnGpu(images, choice, {.seed = 2, .sms = 1}), logits)) << Name(precision);
    EXPECT_TRUE(SameBits(OnGpu(images, choice, {.seed = 3, .sms = 132}), logits)) << Name(precision);
  }
}

TEST_P(CudaBits, DoNotDependOnTheBatch) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kInt8}) {
    const PrecisionChoice choice = {.precision = precision, .kept = {}};
    const std::vector<at::Tensor> images = Images(3);
    OnDevice device(*compiled_.program, compiled_.weights, {.limits = kSmallBatch, .choice = choice});
    std::vector<float> alone;
    for (const at::Tensor& image : images) {
      const std::vector<float> logits = device.Logits(Views({image}));
      alone.insert(alone.end(), logits.begin(), logits.end());
    }
    EXPECT_TRUE(SameBits(device.Logits(Views(images)), alone)) << Name(precision);
    if (precision != Precision::kFp32) continue;
    // Puts one image twice into the batch, and changes the order of the images.
    const std::vector<float> mixed = device.Logits(Views({images[2], images[0], images[2]}));
    const size_t classes = alone.size() / 3;
    for (const auto& [place, image] : {std::pair<size_t, size_t>(0, 2), {1, 0}, {2, 2}}) {
      EXPECT_EQ(std::memcmp(&mixed[place * classes], &alone[image * classes], classes * sizeof(float)), 0) << place;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, CudaBits, ::testing::ValuesIn(EngineForms()),
                         [](const auto& info) { return NameOf(info.param, cpu::CpuPath::kPortable); });

}  // namespace
}  // namespace vitrine::testing
