// SPDX-License-Identifier: Apache-2.0
// Checks that kernels compute only rows of images, never padding.
#include <gtest/gtest.h>

#include "models/engine/cpu/compile.h"
#include "models/engine/cpu/frame_memory.h"
#include "tests/models/engine/compiled.h"
#include "tests/models/reference/images.h"

namespace vitrine::engine {
namespace {

int64_t asked = 0;  // number of multiply-adds of all kernel calls, including padding

// Returns the portable kernels, wrapped to count multiply-adds in `asked`.
Kernels CountingKernels() {
  Kernels kernels = kPortableKernels;
  kernels.gemm = [](const GemmCall& call) {
    asked += call.rows * call.parts * call.inner * call.columns;
    kPortableKernels.gemm(call);
  };
  kernels.product = [](const cpu::ProductCall& call) {
    asked += call.rows * call.inner * call.columns;
    kPortableKernels.product(call);
  };
  kernels.dots = [](View<const float> x, const float* z, float* y) {
    asked += x.rows * x.columns;
    kPortableKernels.dots(x, z, y);
  };
  kernels.depthwise = [](const cpu::DepthwiseCall& call) {
    asked += 9 * call.rows * call.columns * call.channels;
    kPortableKernels.depthwise(call);
  };
  return kernels;
}

class EngineRows : public ::testing::TestWithParam<testing::EngineForm> {};
INSTANTIATE_TEST_SUITE_P(, EngineRows, ::testing::ValuesIn(testing::EngineForms()),
                         [](const auto& info) { return testing::NameOf(info.param, cpu::CpuPath::kPortable); });

// Checks that each step computes as many multiply-adds as its cost states, and none of them on padding. measure_test.cc
// compares the sum of these costs with the workload, which is computed without an engine.
TEST_P(EngineRows, DoNotIncludePadding) {
  const testing::EngineForm& form = GetParam();
  const testing::Compiled compiled(form.config, cpu::CpuPath::kPortable);
  const Kernels kernels = CountingKernels();
  WeightsInMemory weights(compiled.weights);
  SharedMatrices matrices(*compiled.program, weights);
  const absl::StatusOr<Plan> plan =
      Compile(*compiled.program, weights, {.fp32 = &kernels}, {}, /*tokens=*/false, matrices);
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<at::Tensor> tensors;
  std::vector<ImagePlanes> images;
  for (const auto& [height, width] : form.sizes) {
    tensors.push_back(testing::RandomImage(form.config.preprocessing().channels(), height, width, tensors.size()));
    images.push_back(testing::View(tensors.back()));
  }
  FrameMemory memory;
  const Frame& frame = memory.Prepare(*plan, kernels, images, 0).front();
  for (const auto& step : plan->steps) {
    asked = 0;
    step->Run(frame);
    EXPECT_EQ(asked, step->CostOn(frame).multiply_adds) << step->name;
  }
}

}  // namespace
}  // namespace vitrine::engine
