// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_HASHED_WEIGHTS_H_
#define VITRINE_TESTS_MODELS_HASHED_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace vitrine::testing {

// Returns values in [-1, 1) from an integer hash. The values are equal on every machine, unlike the values of random
// generators.
std::vector<float> HashedValues(size_t count, uint64_t seed);

// Returns hashed values for a weight. They are large enough to affect results: near 1 for scales of norms and running
// variances, within 1.5 / sqrt(fan in) for matrices, and within 1/4 for other weights. `trained` is false for running
// statistics.
std::vector<float> HashedWeight(std::string_view name, std::span<const int64_t> shape, bool trained, uint64_t seed);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_HASHED_WEIGHTS_H_
