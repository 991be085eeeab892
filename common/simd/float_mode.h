// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_SIMD_FLOAT_MODE_H_
#define VITRINE_COMMON_SIMD_FLOAT_MODE_H_

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif defined(__aarch64__)
#include <cstdint>
#endif

namespace vitrine::cpu {

// While this object exists, its thread rounds to nearest, traps no floating-point exceptions, and treats denormal
// operands and results as zero. x86 computes with denormals a hundred times slower than with other numbers. Denormals
// are far too small to change logits, so treating them as zero does no harm. The destructor restores the previous mode.
// Works on x86-64 and AArch64, and has no effect on other CPUs.
//
// Compilers do not take the mode into account when they move code. Code that needs the mode must be in a function that
// compilers cannot inline.
class FloatMode {
 public:
#if defined(__x86_64__)
  FloatMode() : before_(_mm_getcsr()) {
    _mm_setcsr(_MM_MASK_MASK | _MM_ROUND_NEAREST | kDenormalsAreZero);
  }
  ~FloatMode() {
    _mm_setcsr(before_);
  }
#elif defined(__aarch64__)
  FloatMode() {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    Set(kDenormalsAreZero);  // all other bits are zero: round to nearest, no traps
  }
  ~FloatMode() {
    Set(before_);
  }
#else
  FloatMode() {}   // NOLINT(modernize-use-equals-default): otherwise instances would be unused variables
  ~FloatMode() {}  // NOLINT(modernize-use-equals-default)
#endif
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

#if defined(__x86_64__)
 private:
  static constexpr unsigned kDenormalsAreZero = _MM_FLUSH_ZERO_ON | 0x40;  // a bit for results, and a bit for operands
  const unsigned before_;
#elif defined(__aarch64__)
 private:
  static constexpr uint64_t kDenormalsAreZero = uint64_t{1} << 24;  // FZ covers results and operands
  static void Set(uint64_t control) {
    asm volatile("msr fpcr, %0" : : "r"(control) : "memory");
  }
  uint64_t before_ = 0;
#endif
};

}  // namespace vitrine::cpu

#endif  // VITRINE_COMMON_SIMD_FLOAT_MODE_H_
