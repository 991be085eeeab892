// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_PARITY_HASHED_H_
#define VITRINE_TESTS_MODELS_PARITY_HASHED_H_

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

namespace vitrine::testing {

// Returns an fp32 tensor, uniform in [centre - half, centre + half), from an integer hash of `key` and the index of
// each element. On any machine, the bits equal the bits from tests/oracle/hashed.py. `half` is a power of two.
at::Tensor HashedTensor(std::string_view key, at::IntArrayRef shape, double centre, double half);

// Returns a normalised image [channels, height, width]: 32-pixel squares that differ strongly, with added noise.
at::Tensor HashedImage(const std::string& key, int channels, int height, int width);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_PARITY_HASHED_H_
