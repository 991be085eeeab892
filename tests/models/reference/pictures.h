// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_REFERENCE_PICTURES_H_
#define VITRINE_TESTS_MODELS_REFERENCE_PICTURES_H_

#include <ATen/core/Tensor.h>

#include <string>

#include "models/reference/model.h"
#include "tests/models/config_text.h"

namespace vitrine::testing {

// Values in [-1, 1) from an integer hash: equal on every machine and independent of any generator.
at::Tensor Hashed(at::IntArrayRef shape, uint64_t seed);

// An input of the model's channels.
at::Tensor Picture(int channels, int height, int width, uint64_t seed);

// Replaces every parameter by hashed values of a size at which each of them matters: near 1 for norm scales, within 1.5
// / sqrt(fan in) for matrices, within a quarter for the rest. Also replaces running statistics.
void HashWeights(Module& model, uint64_t seed = 1);

// A model built from a config in text form, with hashed weights.
std::unique_ptr<Model> MakeHashed(const v1::ModelConfig& config);

// Largest |a - b|.
double Difference(const at::Tensor& a, const at::Tensor& b);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_REFERENCE_PICTURES_H_
