// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_KERNELS_NEON_WORDS_H_
#define VITRINE_MODELS_ENGINE_CPU_KERNELS_NEON_WORDS_H_

#include "common/simd/neon.h"
#include "models/engine/cpu/kernels/narrow_table.h"

// Operations of bf16 and int8 products with NEON, except the multiplication of groups (narrow_kernels.h). Each file
// that includes this header has its own copy of these functions (anonymous namespace), compiled with its own flags.
namespace vitrine::engine {
namespace {

struct NeonWords {
  using V = cpu::Neon;
  using Words = uint32x4_t;

  static Words Load(const std::byte* groups) {
    return vreinterpretq_u32_u8(vld1q_u8(reinterpret_cast<const uint8_t*>(groups)));
  }
  static Words Spread(const std::byte* group) {
    uint32_t word;
    __builtin_memcpy(&word, group, sizeof(word));
    return vdupq_n_u32(word);
  }
};

}  // namespace
}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_KERNELS_NEON_WORDS_H_
