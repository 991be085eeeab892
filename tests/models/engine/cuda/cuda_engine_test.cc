// SPDX-License-Identifier: Apache-2.0
// Tests which models and batches the CUDA engine rejects, how engines share memory, and that NaN reaches the logits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "models/engine/cuda/launches/step_memory.h"
#include "models/program/builder.h"
#include "tests/models/engine/cuda/on_device.h"
#include "tests/models/reference/images.h"

namespace vitrine::testing {
namespace {

using cuda::emulated::EmulatedDevice;
using ::testing::HasSubstr;

// A fixture with a linear head on the mean of 2 x 2 patches. With `custom`, the patches pass through a family's own C++
// function.
class CudaEngine : public ::testing::Test {
 protected:
  explicit CudaEngine() : program_(Make(/*custom=*/false)) {}

  static program::Program Make(bool custom) {
    program::Builder b(3);
    program::Value cells = b.Patchify(2);
    if (custom) {
      const program::Custom loop = {.function = "average pool 3x3",
                                    .forward = [](Grid, int64_t, const float*, float*) {},
                                    .gradient = [](Grid, int64_t, const float*, const float*, float*) {}};
      cells = b.Custom("blocks.0.pool", cells, loop);
    }
    return b.Take(b.Linear("head", b.MeanTokens(cells), 5));
  }

  absl::StatusOr<std::unique_ptr<cuda::Engine>> On(cuda::Device& device, const program::Program& program,
                                                   const PrecisionChoice& choice = {}) {
    const std::vector<const float*> weights(program.weights().size(), numbers_.data());
    engine::WeightsInMemory source(weights);
    return cuda::Engine::Make(program, source, device,
                              {.limits = {.images = 2, .cells = 12, .pixels = 144}, .choice = choice});
  }

  const program::Program program_;
  const std::vector<float> numbers_ = std::vector<float>(64, 0.5F);
};

TEST_F(CudaEngine, RefusesBatchesAboveItsLimits) {
  EmulatedDevice device;
  const auto engine = On(device, program_);
  ASSERT_TRUE(engine.ok()) << engine.status();
  const at::Tensor fits = RandomImage(3, 4, 4, 1), wide = RandomImage(3, 4, 14, 1);
  std::vector<float> logits(15);
  const auto run = [&](const std::vector<at::Tensor>& images) {
    std::vector<engine::ImagePlanes> views;
    for (const at::Tensor& image : images) views.push_back(View(image));
    return (*engine)->Run(views, logits.data());
  };
  EXPECT_TRUE(run({fits}).ok());
  EXPECT_TRUE(run({fits, fits}).ok());
  EXPECT_EQ(run({fits, fits, fits}).code(), absl::StatusCode::kResourceExhausted);
  const absl::Status status = run({wide});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(),
              HasSubstr("1 images, 14 cells and 168 pixels exceeds the limits (2 images, 12 cells, 144 pixels"));
}

TEST_F(CudaEngine, RefusesCustomOperatorsByName) {
  EmulatedDevice device;
  const absl::Status status = On(device, Make(/*custom=*/true)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("blocks.0.pool: average pool 3x3"));
}

TEST_F(CudaEngine, RefusesToKeepAnOperatorThatTheModelLacks) {
  EmulatedDevice device;
  PrecisionChoice choice = {.precision = Precision::kInt8, .kept = {"head"}};
  EXPECT_TRUE(On(device, program_, choice).ok());
  choice.kept.insert("blocks.0.fc1");
  const absl::Status status = On(device, program_, choice).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("'blocks.0.fc1' cannot be excluded from int8"));
  engine::ZeroWeights weights(program_);
  EXPECT_EQ(engine::Engine::Make(program_, weights, cpu::CpuPath::kPortable, choice).status(), status);
}

// A device with `most` bytes of memory.
class SmallDevice : public EmulatedDevice {
 public:
  explicit SmallDevice(size_t most) : most_(most) {}
  void* Allocate(size_t bytes) override {
    return machine().memory().allocated() + bytes > most_ ? nullptr : EmulatedDevice::Allocate(bytes);
  }

 private:
  const size_t most_;
};

TEST_F(CudaEngine, RefusesATooLargeModelAndFreesItsMemory) {
  size_t needed = 0;
  {
    EmulatedDevice device;
    const auto engine = On(device, program_);
    needed = device.machine().memory().allocated();
  }
  SmallDevice enough(needed), small(needed - 1);
  EXPECT_TRUE(On(enough, program_).ok());
  EXPECT_EQ(On(small, program_).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(small.machine().memory().allocated(), 0u);
}

// For each n, the n-th largest buffers of all plans share memory.
TEST(CudaArena, PlansShareTheSameMemory) {
  EmulatedDevice device;
  cuda::Buffers buffers(device);
  cuda::Arena arena;
  const std::vector<size_t> logits = {1000, 0, 3000}, tokens = {2000, 500, 2500, 100};
  arena.Reserve(logits);
  arena.Reserve(tokens);
  ASSERT_TRUE(arena.Allocate(buffers).ok());
  const std::vector<std::byte*> a = arena.PlacesOf(logits), b = arena.PlacesOf(tokens);
  EXPECT_EQ(a[2], b[2]);
  EXPECT_EQ(a[0], b[0]);
  EXPECT_EQ(device.machine().memory().allocated(), 3000u + 2000 + 500 + 100);
  EXPECT_EQ(std::set<std::byte*>(b.begin(), b.end()).size(), b.size());
}

// Counts the bytes that are uploaded.
class CountingDevice : public EmulatedDevice {
 public:
  absl::Status Upload(void* to, const void* from, size_t bytes) override {
    uploaded_ += bytes;
    return EmulatedDevice::Upload(to, from, bytes);
  }
  size_t uploaded() const { return uploaded_; }

 private:
  size_t uploaded_ = 0;
};

class CudaSlots : public CudaForm {};

TEST_P(CudaSlots, ShareAllWeights) {
  size_t of_one = 0, weights = 0;
  for (const program::Weight& weight : compiled_.program->weights()) weights += 4 * size_t(weight.elements());
  for (const int slots : {1, 3}) {
    CountingDevice device;
    const std::vector<cuda::Device*> devices(static_cast<size_t>(slots), &device);
    engine::WeightsInMemory source(compiled_.weights);
    const auto engines = cuda::Engine::MakeSlots(*compiled_.program, source, devices,
                                                 {.limits = {.images = 1, .cells = 8, .pixels = 8}});
    ASSERT_TRUE(engines.ok()) << engines.status();
    if (slots == 1) of_one = device.uploaded();
    EXPECT_EQ(device.uploaded(), of_one);
    EXPECT_LE(device.uploaded(), weights + weights / 4);  // the remaining bytes are zeros for missing biases
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, CudaSlots, ::testing::ValuesIn(EngineForms()),
                         [](const auto& info) { return NameOf(info.param, cpu::CpuPath::kPortable); });

TEST_F(CudaEngine, ErrorsNameTheFaultyStep) {
  EmulatedDevice device;
  const cuda::Launch launch = cuda::MakeLaunch("head", "vitrine_unknown", 1);
  EXPECT_THAT(device.Run(launch).message(), HasSubstr("head: no kernel vitrine_unknown"));
  cuda::AddArguments arguments = {};
  arguments.x.columns = arguments.y.columns = arguments.z.columns = 1;
  EXPECT_THAT(device.Run(cuda::MakeLaunch("head", "vitrine_add", arguments)).message(),
              HasSubstr("head: stray access in vitrine_add, block "));
}

using CudaNan = CudaForm;

// NaN in an image must reach all logits: a maximum (in ReLU, softmax or pooling) must not replace NaN by a number.
TEST_P(CudaNan, ReachesTheLogits) {
  at::Tensor image = Sized(0, 1).clone();
  image.select(1, image.size(1) / 2).select(1, image.size(2) / 2).fill_(NAN);
  OnDevice device(*compiled_.program, compiled_.weights);
  const std::vector<float> logits = device.Logits(Views({image}));
  EXPECT_TRUE(std::all_of(logits.begin(), logits.end(), [](float logit) { return std::isnan(logit); }));
}

INSTANTIATE_TEST_SUITE_P(Forms, CudaNan, ::testing::ValuesIn(EngineForms()),
                         [](const auto& info) { return NameOf(info.param, cpu::CpuPath::kPortable); });

}  // namespace
}  // namespace vitrine::testing
