// SPDX-License-Identifier: Apache-2.0
#include "tests/models/reference/pictures.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>

namespace vitrine::testing {
namespace {

// These models are too small to gain from a second thread, and threads that wait for each other on a busy machine spin.
const bool kOneThread = [] {
  at::set_num_threads(1);
  return true;
}();

}  // namespace

at::Tensor Hashed(at::IntArrayRef shape, uint64_t seed) {
  static_cast<void>(kOneThread);
  at::Tensor tensor = at::empty(shape, at::kFloat);
  float* values = tensor.data_ptr<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    uint64_t x = (static_cast<uint64_t>(i) + 1) * 0x9e3779b97f4a7c15 + seed * 0xd1b54a32d192ed03;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    values[i] = static_cast<float>((x >> 40) & 0xffffff) / 8388608.0F - 1.0F;
  }
  return tensor;
}

at::Tensor Picture(int channels, int height, int width, uint64_t seed) {
  return Hashed({channels, height, width}, seed);
}

void HashWeights(Module& model, uint64_t seed) {
  const at::NoGradGuard no_grad;
  for (NamedTensor& parameter : model.Parameters()) {
    at::Tensor values = Hashed(parameter.tensor.sizes(), ++seed);
    const auto ends = [&](const char* end) { return parameter.name.ends_with(end); };
    const bool layer_norm = parameter.name.find("norm") != std::string::npos && ends(".weight");
    const bool norm = layer_norm || ends(".query_scale") || ends(".context_scale");
    if (norm) {
      values = values * 0.3 + 1;
    } else if (parameter.tensor.dim() > 1 && parameter.name.find("positions") == std::string::npos) {
      values = values * (1.5 / std::sqrt(parameter.tensor.numel() / parameter.tensor.size(0)));
    } else {
      values = values * 0.25;
    }
    parameter.tensor.copy_(values);
  }
  for (NamedTensor& buffer : model.Buffers()) {
    const at::Tensor values = Hashed(buffer.tensor.sizes(), ++seed);
    buffer.tensor.copy_(buffer.name.ends_with("running_var") ? values * 0.3 + 1 : values * 0.25);
  }
}

std::unique_ptr<Model> MakeHashed(const v1::ModelConfig& config) {
  absl::StatusOr<std::unique_ptr<Model>> model = MakeModel(config);
  if (!model.ok()) {
    ADD_FAILURE() << model.status();
    std::abort();
  }
  HashWeights(**model);
  return *std::move(model);
}

double Difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

}  // namespace vitrine::testing
