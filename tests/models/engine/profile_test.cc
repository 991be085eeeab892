// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cpu/profile.h"

#include <gtest/gtest.h>

#include "models/engine/cpu/peaks.h"
#include "models/workload/workload.h"
#include "tests/models/engine/compiled.h"
#include "tests/models/reference/images.h"

namespace vitrine::engine {
namespace {

std::vector<ImagePlanes> Views(const std::vector<at::Tensor>& images) {
  std::vector<ImagePlanes> views;
  for (const at::Tensor& image : images) {
    views.push_back({image.const_data_ptr<float>(), static_cast<int>(image.size(0)), static_cast<int>(image.size(1)),
                     static_cast<int>(image.size(2))});
  }
  return views;
}

// Every step must have a name. In XCiT and X-ViT, the steps together must have as many multiply-adds as the workload.
// In the other models, they may have fewer.
TEST(Profile, MultiplyAddsEqualThoseOfTheWorkload) {
  for (const testing::EngineForm& form : testing::EngineForms()) {
    SCOPED_TRACE(form.name);
    const testing::Compiled compiled(form.config, cpu::CpuPath::kPortable);
    const auto [height, width] = form.sizes[0];
    std::vector<at::Tensor> images;
    for (uint64_t i = 0; i < 3; ++i) {
      images.push_back(testing::RandomImage(form.config.preprocessing().channels(), height, width, i));
    }
    Workspace workspace;
    const std::vector<StepProfile> steps = ProfileSteps(*compiled.engine, Views(images), workspace);
    ASSERT_EQ(steps.size(), compiled.engine->plan().steps.size());
    int64_t multiply_adds = 0;
    for (const StepProfile& step : steps) {
      EXPECT_FALSE(step.name.empty());
      EXPECT_GT(step.bytes, 0) << step.name;
      EXPECT_GT(step.seconds, 0) << step.name;
      multiply_adds += step.multiply_adds;
    }
    // Leaves out the operators of positions, whose results the engine caches. In some models, the workload also counts
    // products that no logit needs.
    const WorkloadInput input = {.height = height, .width = width, .images = 3};
    int64_t counted = 0;
    const absl::StatusOr<Workload> workload = WorkloadOf(form.config, input, Form::kExecuted);
    ASSERT_TRUE(workload.ok()) << workload.status();
    for (const Operator& op : *workload) {
      if (!op.name.starts_with("positions")) counted += op.macs;
    }
    if (form.name == "xcit" || form.name == "xvit") {
      EXPECT_EQ(multiply_adds, counted);
    } else {
      EXPECT_LE(multiply_adds, counted);
      EXPECT_GT(2 * multiply_adds, counted);
    }
  }
}

TEST(Peaks, CombineTheMaximumOfSeveralCores) {
  CorePeaks peaks = {.gflops = 2, .bf16_gflops = 30, .int8_gflops = 40, .cache_gbps = 20, .memory_gbps = 5};
  peaks.RaiseTo({.gflops = 3, .bf16_gflops = 32, .int8_gflops = 41, .cache_gbps = 10, .memory_gbps = 6});
  peaks.RaiseTo({.gflops = 1, .bf16_gflops = 31, .int8_gflops = 39, .cache_gbps = 15, .memory_gbps = 4});
  EXPECT_EQ(peaks.gflops, 3);
  EXPECT_EQ(peaks.GflopsOf(Precision::kFp32), 3);
  EXPECT_EQ(peaks.GflopsOf(Precision::kBf16), 32);
  EXPECT_EQ(peaks.GflopsOf(Precision::kInt8), 41);
  EXPECT_EQ(peaks.cache_gbps, 20);
  EXPECT_EQ(peaks.memory_gbps, 6);
}

TEST(Peaks, ArePositiveWithACacheAsFastAsMemory) {
  const CorePeaks peaks = MeasureCorePeaks(*FindInstructions(cpu::SupportedPaths().back()));
  EXPECT_GT(peaks.gflops, 0);
  EXPECT_GT(peaks.memory_gbps, 0);
  EXPECT_GT(peaks.cache_gbps, peaks.memory_gbps / 2);  // halved, because other load may disturb the measurement
}

}  // namespace
}  // namespace vitrine::engine
