// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_SIMD_FOUR_H_
#define VITRINE_COMMON_SIMD_FOUR_H_

namespace vitrine::cpu {

// One number for each of four rows, as a compiler vector.
typedef float Four __attribute__((vector_size(16)));

[[gnu::always_inline]] inline Four RootOf(Four v) {
  return Four{__builtin_sqrtf(v[0]), __builtin_sqrtf(v[1]), __builtin_sqrtf(v[2]), __builtin_sqrtf(v[3])};
}

}  // namespace vitrine::cpu

#endif  // VITRINE_COMMON_SIMD_FOUR_H_
