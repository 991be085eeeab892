// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_INITIALIZER_H_
#define VITRINE_REFERENCE_INITIALIZER_H_

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace vitrine {

// Draws the initial values of parameters, in the order of construction, from one seeded generator.
// On the meta device tensors have shapes but no memory; that is enough to count parameters. Without a seed they have
// memory that holds anything and is not touched; that is enough for values that are given later.
class Initializer {
 public:
  Initializer(std::optional<uint64_t> seed, at::Device device);

  at::Tensor Zeros(at::IntArrayRef shape) { return Constant(shape, 0); }
  at::Tensor Ones(at::IntArrayRef shape) { return Constant(shape, 1); }
  at::Tensor Constant(at::IntArrayRef shape, double value);
  at::Tensor Normal(at::IntArrayRef shape, double std);
  // Normal with its tails beyond two units (not two deviations) cut, as timm's trunc_normal_: for std 0.02 plain
  // normal.
  at::Tensor TruncatedNormal(at::IntArrayRef shape, double std);
  // Uniform in [-bound, bound).
  at::Tensor Uniform(at::IntArrayRef shape, double bound);

 private:
  at::Tensor Empty(at::IntArrayRef shape) const;

  at::Generator generator_;
  const at::Device device_;
  const bool fills_;
};

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_INITIALIZER_H_
