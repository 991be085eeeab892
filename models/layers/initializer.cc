// SPDX-License-Identifier: Apache-2.0
#include "models/layers/initializer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>

namespace vitrine {

Initializer::Initializer(uint64_t seed, at::Device device)
    : generator_(at::make_generator<at::CPUGeneratorImpl>(seed)), device_(device) {}

at::Tensor Initializer::Constant(at::IntArrayRef shape, double value) {
  return Empty(shape).fill_(value);
}

at::Tensor Initializer::Normal(at::IntArrayRef shape, double std) {
  at::Tensor values = Empty(shape);
  return device_.is_meta() ? values : values.normal_(0, std, generator_);
}

at::Tensor Initializer::TruncatedNormal(at::IntArrayRef shape, double std) {
  return Normal(shape, std).clamp_(-2, 2);
}

at::Tensor Initializer::Uniform(at::IntArrayRef shape, double bound) {
  at::Tensor values = Empty(shape);
  return device_.is_meta() ? values : values.uniform_(-bound, bound, generator_);
}

at::Tensor Initializer::Empty(at::IntArrayRef shape) const {
  return at::empty(shape, at::TensorOptions().dtype(at::kFloat).device(device_));
}

}  // namespace vitrine
