// SPDX-License-Identifier: Apache-2.0
#include "models/reference/initializer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>

namespace vitrine {

Initializer::Initializer(std::optional<uint64_t> seed, at::Device device)
    : generator_(at::make_generator<at::CPUGeneratorImpl>(seed.value_or(0))),
      device_(device),
      fills_(seed.has_value() && !device.is_meta()) {}

at::Tensor Initializer::Constant(at::IntArrayRef shape, double value) {
  at::Tensor values = Empty(shape);
  return fills_ ? values.fill_(value) : values;
}

at::Tensor Initializer::Normal(at::IntArrayRef shape, double std) {
  at::Tensor values = Empty(shape);
  return fills_ ? values.normal_(0, std, generator_) : values;
}

at::Tensor Initializer::TruncatedNormal(at::IntArrayRef shape, double std) {
  at::Tensor values = Normal(shape, std);
  return fills_ ? values.clamp_(-2, 2) : values;
}

at::Tensor Initializer::Uniform(at::IntArrayRef shape, double bound) {
  at::Tensor values = Empty(shape);
  return fills_ ? values.uniform_(-bound, bound, generator_) : values;
}

at::Tensor Initializer::Empty(at::IntArrayRef shape) const {
  return at::empty(shape, at::TensorOptions().dtype(at::kFloat).device(device_));
}

}  // namespace vitrine
