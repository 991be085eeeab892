// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_SIMD_FLOAT_MODE_H_
#define VITRINE_BASE_SIMD_FLOAT_MODE_H_

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace vitrine::cpu {

// While it lives, this thread computes with floats in one way whatever was set before: it rounds to nearest, raises no
// signal, and takes denormals for zero as operands and as results, since an x86 computes with them a hundred times
// slower and no logit is as small. Then all is as before. Does nothing on another CPU.
//
// Compilers do not know of it: what shall run under it is called through something that they cannot see into.
class FloatMode {
 public:
#if defined(__x86_64__)
  FloatMode() : before_(_mm_getcsr()) {
    _mm_setcsr(_MM_MASK_MASK | _MM_ROUND_NEAREST | kDenormalsAreZero);
  }
  ~FloatMode() {
    _mm_setcsr(before_);
  }
#else
  FloatMode() {}   // NOLINT(modernize-use-equals-default): or it would be an unused variable where it is held
  ~FloatMode() {}  // NOLINT(modernize-use-equals-default)
#endif
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

#if defined(__x86_64__)
 private:
  static constexpr unsigned kDenormalsAreZero = _MM_FLUSH_ZERO_ON | 0x40;  // results, operands
  const unsigned before_;
#endif
};

}  // namespace vitrine::cpu

#endif  // VITRINE_BASE_SIMD_FLOAT_MODE_H_
