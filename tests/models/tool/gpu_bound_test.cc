// SPDX-License-Identifier: Apache-2.0
// Tests the computed work of each step of a plan, and the lower bound of the plan's time on a GPU.
#include "models/tool/describe/gpu_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "models/families/family.h"
#include "models/workload/conventions.h"
#include "models/zoo.h"

namespace vitrine {
namespace {

constexpr WorkloadInput kInput = {.height = 224, .width = 224, .images = 4};

std::vector<StepWork> Steps(const char* variant, Precision precision = Precision::kBf16, bool every = false) {
  const absl::StatusOr<program::Program> program = ProgramOf(FindVariant(variant)->config);
  absl::StatusOr<std::vector<StepWork>> steps = WorkOnGpu(*program, 3, kInput, precision, every);
  EXPECT_TRUE(steps.ok()) << steps.status();
  return steps.ok() ? *std::move(steps) : std::vector<StepWork>();
}

int64_t MultiplyAdds(const std::vector<StepWork>& steps) {
  int64_t sum = 0;
  for (const StepWork& step : steps) sum += step.count * step.multiply_adds;
  return sum;
}

// The host computes the positions, so their products do not count. The test omits models whose last block computes only
// class tokens, because they execute fewer products than the workload counts.
TEST(GpuBound, CountsTheProductsOfTheExecutedForm) {
  for (const char* variant : {"xcit-n12", "xcit-t12", "xvit-t"}) {
    const absl::StatusOr<Workload> executed = WorkloadOf(FindVariant(variant)->config, kInput, Form::kExecuted);
    ASSERT_TRUE(executed.ok()) << executed.status();
    int64_t expected = 0;
    for (const Operator& op : *executed) {
      if (op.name != "positions.projection") expected += op.macs;
    }
    EXPECT_EQ(MultiplyAdds(Steps(variant)), expected) << variant;
    EXPECT_EQ(MultiplyAdds(Steps(variant, Precision::kFp32, /*every=*/true)), expected) << variant;
  }
}

TEST(GpuBound, IsTheLargerOfProductsAndBytes) {
  const Gpu gpu = {.name = "x",
                   .model = "x",
                   .fp32_tflops = 2,
                   .bf16_tflops = 8,
                   .int8_tops = 16,
                   .memory_gbps = 1000,
                   .bus_gbps = 1};
  const StepWork products = {.name = "x", .precision = Precision::kBf16, .multiply_adds = 4'000'000'000, .bytes = 1};
  const StepWork bytes = {.name = "x", .multiply_adds = 1, .bytes = 3'000'000};
  EXPECT_DOUBLE_EQ(products.BoundOn(gpu), 1e-3);
  EXPECT_DOUBLE_EQ(bytes.BoundOn(gpu), 3e-6);
}

// In a block of ViT-Ti, the layer `qkv` reads rows of 192 numbers and writes rows of 576 numbers, for 4 x 197 tokens.
// It has 192 x 576 weights and 576 biases. In bf16, the engine also stores the written rows in bf16, because only
// attention reads them. The rows that `qkv` reads are fp32, because they are also the residual.
TEST(GpuBound, CountsRowsAndWeightsOnce) {
  for (const auto& [precision, bytes] : {std::pair(Precision::kFp32, 4), std::pair(Precision::kBf16, 2)}) {
    const std::vector<StepWork> steps = Steps("vit-ti16", precision);
    const auto qkv = std::find_if(steps.begin(), steps.end(),
                                  [](const StepWork& step) { return step.name == "blocks.*.attention.qkv"; });
    ASSERT_NE(qkv, steps.end());
    constexpr int64_t kRows = 4 * 197;
    EXPECT_EQ(qkv->bytes, kRows * (192 * 4 + 576 * bytes) + 192 * 576 * bytes + 576 * 4);
    EXPECT_EQ(qkv->multiply_adds, kRows * 192 * 576);
  }
}

// A step that takes the class token of each image does not read the other tokens.
TEST(GpuBound, CountsOnlyTheRowsThatAreRead) {
  const std::vector<StepWork> steps = Steps("vit-ti16", Precision::kBf16, /*every=*/true);
  const auto taken = std::find_if(steps.begin(), steps.end(), [](const StepWork& step) {
    return step.name == "blocks.11.attention.proj" && step.multiply_adds == 0;
  });
  ASSERT_NE(taken, steps.end());
  EXPECT_EQ(taken->bytes, 2 * 4 * 192 * 4) << "four rows of 192 numbers, read and written";
}

TEST(GpuBound, FindsGpusByName) {
  for (const Gpu& gpu : Gpus()) EXPECT_EQ(FindGpu(gpu.name), &gpu);
  EXPECT_EQ(FindGpu("h1000"), nullptr);
}

}  // namespace
}  // namespace vitrine
