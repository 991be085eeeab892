// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_SIMD_BF16_H_
#define VITRINE_COMMON_SIMD_BF16_H_

#include <bit>
#include <cstdint>

#include "common/simd/view.h"

namespace vitrine::cpu {

// Rounds to nearest, ties to even, like the CPU's instruction does for finite values. NaN stays NaN.
inline Bf16 ToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return Bf16{static_cast<uint16_t>(bits >> 16 | 0x40)};
  return Bf16{static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

inline float ToFloat(Bf16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

}  // namespace vitrine::cpu

#endif  // VITRINE_COMMON_SIMD_BF16_H_
