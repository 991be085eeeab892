// SPDX-License-Identifier: Apache-2.0
// bf16 for tests of narrow matrices.
#ifndef VITRINE_TESTS_MODELS_ENGINE_CUDA_NARROW_NUMBERS_H_
#define VITRINE_TESTS_MODELS_ENGINE_CUDA_NARROW_NUMBERS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/simd/bf16.h"

namespace vitrine::testing {

inline std::vector<uint16_t> Bf16Of(const std::vector<float>& values) {
  std::vector<uint16_t> narrow(values.size());
  std::transform(values.begin(), values.end(), narrow.begin(),
                 [](float value) { return static_cast<uint16_t>(cpu::ToBf16(value)); });
  return narrow;
}

inline std::vector<float> FloatsOfBf16(const std::vector<uint16_t>& narrow) {
  std::vector<float> values(narrow.size());
  std::transform(narrow.begin(), narrow.end(), values.begin(),
                 [](uint16_t bits) { return cpu::ToFloat(cpu::Bf16{bits}); });
  return values;
}

// Returns the values rounded to bf16.
inline std::vector<float> RoundedToBf16(const std::vector<float>& values) {
  return FloatsOfBf16(Bf16Of(values));
}

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_ENGINE_CUDA_NARROW_NUMBERS_H_
