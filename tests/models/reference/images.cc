// SPDX-License-Identifier: Apache-2.0
#include "tests/models/reference/images.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "models/reference/float_arrays.h"
#include "tests/models/hashed_weights.h"

namespace vitrine::testing {
namespace {

// These models are too small to gain from a second thread, and on a busy machine threads would spin while they wait for
// each other.
const bool kOneThread = [] {
  at::set_num_threads(1);
  return true;
}();

}  // namespace

at::Tensor Hashed(at::IntArrayRef shape, uint64_t seed) {
  static_cast<void>(kOneThread);
  const auto count = static_cast<size_t>(c10::multiply_integers(shape));
  if (count == 0) return at::empty(shape);  // a FloatArray without values has no shape
  return TensorOf({.shape = shape.vec(), .values = HashedValues(count, seed)});
}

at::Tensor RandomImage(int channels, int height, int width, uint64_t seed) {
  return Hashed({channels, height, width}, seed);
}

void HashWeights(Module& model, uint64_t seed) {
  const at::NoGradGuard no_grad;
  const auto hash = [&seed](NamedTensor weight, bool trained) {
    const std::vector<int64_t> shape = weight.tensor.sizes().vec();
    weight.tensor.copy_(TensorOf({.shape = shape, .values = HashedWeight(weight.name, shape, trained, ++seed)}));
  };
  for (const NamedTensor& parameter : model.Parameters()) hash(parameter, true);
  for (const NamedTensor& buffer : model.Buffers()) hash(buffer, false);
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
