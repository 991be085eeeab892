// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_REFERENCE_IMAGES_H_
#define VITRINE_TESTS_MODELS_REFERENCE_IMAGES_H_

#include <ATen/core/Tensor.h>

#include <string>

#include "models/reference/model.h"
#include "tests/models/config_text.h"

namespace vitrine::testing {

// Returns HashedValues (tests/models/hashed_weights.h) as a tensor of at least one value.
at::Tensor Hashed(at::IntArrayRef shape, uint64_t seed);

// Returns an image [channels, height, width] with the values of Hashed.
at::Tensor RandomImage(int channels, int height, int width, uint64_t seed);

// Sets every parameter and every running statistic of the model to values from HashedWeight
// (tests/models/hashed_weights.h). The values depend only on `seed` and on the names, shapes and order of the model's
// weights.
void HashWeights(Module& model, uint64_t seed = 1);

// Returns a model built from a config, with hashed weights.
std::unique_ptr<Model> MakeHashed(const v1::ModelConfig& config);

// Returns the largest |a - b|.
double Difference(const at::Tensor& a, const at::Tensor& b);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_REFERENCE_IMAGES_H_
