// SPDX-License-Identifier: Apache-2.0
// Tests the cost and time of each step of a pass, and the peak rates of a core.
#include "models/tool/describe/measure.h"

#include <gtest/gtest.h>

#include <vector>

#include "models/engine/weight_source.h"
#include "models/model_description.h"
#include "models/tool/describe/subject.h"
#include "models/zoo/small_forms.h"

namespace vitrine {
namespace {

// Every step must have a name. In XCiT and X-ViT, the steps together must have as many multiply-adds as the workload.
// In the other models, they may have fewer.
TEST(Profile, MultiplyAddsEqualThoseOfTheWorkload) {
  std::vector<SmallForm> forms = SmallForms();
  for (const auto& more : {SmallPrefixForms(), SmallKvForms()}) forms.insert(forms.end(), more.begin(), more.end());
  for (const SmallForm& form : forms) {
    SCOPED_TRACE(form.name);
    const ModelDescription model = *ModelDescription::Make(form.config);
    engine::ZeroWeights weights(model.program());
    const auto engine = engine::Engine::Make(model.program(), weights, cpu::CpuPath::kPortable);
    ASSERT_TRUE(engine.ok()) << engine.status();
    const WorkloadInput input = {.height = form.height, .width = form.width, .images = 3};
    const int channels = form.config.preprocessing().channels();
    const std::vector<float> pixels = RandomPixels(channels, input, /*seed=*/1);
    const std::vector<engine::ImagePlanes> images(3, {pixels.data(), channels, form.height, form.width});
    engine::Workspace workspace;
    const std::vector<StepProfile> steps = ProfileSteps(*engine, images, workspace);
    ASSERT_EQ(steps.size(), engine->plan().steps.size());
    int64_t multiply_adds = 0;
    for (const StepProfile& step : steps) {
      EXPECT_FALSE(step.name.empty());
      EXPECT_GT(step.bytes, 0) << step.name;
      EXPECT_GT(step.seconds, 0) << step.name;
      multiply_adds += step.multiply_adds;
    }
    // Leaves out the operators of positions, whose results the engine caches. In some models, the workload also counts
    // products that no logit needs.
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
  const CorePeaks peaks = PeaksOfThisCore();
  EXPECT_GT(peaks.gflops, 0);
  EXPECT_GT(peaks.memory_gbps, 0);
  EXPECT_GT(peaks.cache_gbps, peaks.memory_gbps / 2);  // halved, because other load may disturb the measurement
}

}  // namespace
}  // namespace vitrine
