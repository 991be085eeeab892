// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_INITIALIZER_H_
#define VITRINE_MODELS_REFERENCE_INITIALIZER_H_

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace vitrine {

// Draws the initial values of parameters from one seeded generator, in the order of the calls. On the meta device,
// tensors have shapes but no memory; this is enough to count parameters. Without a seed, allocates tensors without
// setting values, for a caller that sets them later.
class Initializer {
 public:
  Initializer(std::optional<uint64_t> seed, at::Device device);

  at::Tensor Zeros(at::IntArrayRef shape) { return Constant(shape, 0); }
  at::Tensor Ones(at::IntArrayRef shape) { return Constant(shape, 1); }
  at::Tensor Constant(at::IntArrayRef shape, double value);
  at::Tensor Normal(at::IntArrayRef shape, double std);
  // Draws from a normal distribution that is cut at -2 and 2 (not at two deviations), like timm's trunc_normal_. For
  // std 0.02 this is effectively a plain normal distribution.
  at::Tensor TruncatedNormal(at::IntArrayRef shape, double std);
  // Draws from the uniform distribution in [-bound, bound).
  at::Tensor Uniform(at::IntArrayRef shape, double bound);

 private:
  at::Tensor Empty(at::IntArrayRef shape) const;

  at::Generator generator_;
  const at::Device device_;
  const bool fills_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_INITIALIZER_H_
