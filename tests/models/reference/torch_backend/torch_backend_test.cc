// SPDX-License-Identifier: Apache-2.0
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include <cmath>
#include <exception>
#include <functional>
#include <vector>

#include "models/engine/cpu_backend.h"
#include "models/engine/logits.h"
#include "models/reference/float_arrays.h"
#include "models/reference/model.h"
#include "models/reference/out_of_memory.h"
#include "models/reference/torch_backend/torch_functions.h"
#include "tests/models/config_text.h"
#include "tests/models/reference/images.h"

namespace vitrine::testing {
namespace {

v1::ModelConfig SmallEit() {
  return Config(
      "classes: 7 preprocessing { channels: 3 mean: [0.5, 0.5, 0.5] std: [0.25, 0.25, 0.25] interpolation: BICUBIC "
      "native { cell: 4 min_tokens: 4 max_tokens: 64 } } "
      "eit { pool: 4 width: 24 depth: 2 heads: 2 mlp_width: 32 grid_rows: 4 grid_columns: 4 }");
}

std::vector<const float*> PointersTo(const std::vector<at::Tensor>& weights) {
  std::vector<const float*> pointers;
  for (const at::Tensor& weight : weights) pointers.push_back(weight.const_data_ptr<float>());
  return pointers;
}

std::vector<FloatArray> Inputs() {
  std::vector<FloatArray> inputs;
  for (const auto& [height, width] : {std::pair(16, 16), {8, 24}, {32, 12}, {16, 16}, {20, 28}}) {
    inputs.push_back(FloatsOf(RandomImage(3, height, width, inputs.size() + 1)));
  }
  return inputs;
}

TEST(TorchBackend, AgreesWithTheEngine) {
  const std::unique_ptr<Model> model = MakeHashed(SmallEit());
  const std::vector<const float*> weights = PointersTo(model->weights());
  const auto reference = kTorchFunctions.make_backend(model->config(), weights);
  const auto engine = MakeCpuBackend(model->program(), weights, cpu::CpuPath::kPortable);
  ASSERT_TRUE(reference.ok() && engine.ok()) << reference.status() << engine.status();
  const std::vector<FloatArray> inputs = Inputs();
  const FloatArray expected = LogitsOf(**reference, 7, inputs).value(), actual = LogitsOf(**engine, 7, inputs).value();
  float largest = 0;
  for (const float logit : expected.values) largest = std::max(largest, std::abs(logit));
  ASSERT_GT(largest, 0.1F);
  for (size_t i = 0; i < expected.values.size(); ++i) {
    EXPECT_NEAR(actual.values[i], expected.values[i], 1e-5F * largest) << i;
  }
}

TEST(TorchBackend, FillsTheRequestedTaps) {
  const std::unique_ptr<Model> model = MakeHashed(SmallEit());
  const auto backend = kTorchFunctions.make_backend(model->config(), PointersTo(model->weights())).value();
  const std::vector<FloatArray> inputs = Inputs();
  std::vector<engine::ImagePlanes> images;
  for (const FloatArray& input : inputs) images.push_back(ImageOf(input));
  AttentionTap attention;
  attention.Request(1, model->attention().offers.front().source, 0);
  TokenTap tokens;
  tokens.Request(TokenTap::kFinal);
  engine::Workspace workspace;
  std::vector<float> logits(7 * inputs.size());
  ASSERT_TRUE(backend->Run(images, workspace, logits.data(), &attention, &tokens).ok());
  EXPECT_NE(attention.Find(1, model->attention().offers.front().source, 0), nullptr);
  EXPECT_NE(tokens.Find(TokenTap::kFinal), nullptr);
}

// LibTorch reports a lack of memory in several ways.
TEST(TorchBackend, DistinguishesOutOfMemoryFromOtherFaults) {
  const auto is_memory = [](const std::function<void()>& compute) {
    try {
      compute();
    } catch (const std::exception& error) {
      return IsOutOfMemory(error);
    }
    ADD_FAILURE() << "nothing was thrown";
    return false;
  };
  EXPECT_TRUE(is_memory([] { TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate"); }));
  for (const char* text : {"CUDA error: out of memory\nCUDA kernel errors might be reported later",
                           "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"}) {
    EXPECT_TRUE(is_memory([&] { TORCH_CHECK(false, text); })) << text;
  }
  for (const char* text :
       {"CUDA error: an illegal memory access was encountered", "CUDA error: unspecified launch failure"}) {
    EXPECT_FALSE(is_memory([&] { TORCH_CHECK(false, text); })) << text;
  }
}

TEST(TorchBackend, DrawsWeightsLikeTraining) {
  const std::vector<FloatArray> drawn = kTorchFunctions.draw(SmallEit(), 5).value();
  const std::unique_ptr<Model> model = *MakeModel(SmallEit(), 5);
  ASSERT_EQ(drawn.size(), model->weights().size());
  for (size_t i = 0; i < drawn.size(); ++i) {
    EXPECT_TRUE(TensorOf(drawn[i]).equal(model->weights()[i])) << model->program().weights()[i].name;
  }
  EXPECT_EQ(kTorchFunctions.draw(v1::ModelConfig(), 5).status().code(), absl::StatusCode::kInvalidArgument);
}

// The logits are computed by several threads, as in the server.
TEST(LogitsOf, BitsDoNotDependOnTheNumberOfThreads) {
  const std::unique_ptr<Model> model = MakeHashed(SmallEit());
  const auto engine =
      MakeCpuBackend(model->program(), PointersTo(model->weights()), cpu::SupportedPaths().back()).value();
  const std::vector<FloatArray> inputs = Inputs();
  const FloatArray alone = LogitsOf(*engine, 7, inputs).value();
  for (const int threads : {2, 3, 5, 64}) EXPECT_EQ(LogitsOf(*engine, 7, inputs, threads)->values, alone.values);
}

}  // namespace
}  // namespace vitrine::testing
