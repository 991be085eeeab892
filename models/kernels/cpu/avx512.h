#ifndef VITRINE_MODELS_KERNELS_CPU_AVX512_H_
#define VITRINE_MODELS_KERNELS_CPU_AVX512_H_

#include <immintrin.h>

#include <cstdint>

// The vectors of the two files built for AVX-512; see linear_kernel.h. In an anonymous namespace so that nothing built
// with their flags can be linked into another file.
namespace vitrine::cpu {
namespace {

struct Avx512 {
  using Reg = __m512;
  static constexpr int kLanes = 16;

  static __mmask16 First(int64_t count) { return static_cast<__mmask16>((1u << count) - 1); }
  static Reg Broadcast(float value) { return _mm512_set1_ps(value); }
  static Reg Load(const float* from) { return _mm512_loadu_ps(from); }
  static Reg LoadPart(const float* from, int64_t count) { return _mm512_maskz_loadu_ps(First(count), from); }
  static void Store(float* to, Reg v) { _mm512_storeu_ps(to, v); }
  static void StorePart(float* to, Reg v, int64_t count) { _mm512_mask_storeu_ps(to, First(count), v); }
  static Reg KeepFirst(Reg v, int64_t count) { return _mm512_maskz_mov_ps(First(count), v); }
  static Reg Add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  static Reg Sub(Reg a, Reg b) { return _mm512_sub_ps(a, b); }
  static Reg Mul(Reg a, Reg b) { return _mm512_mul_ps(a, b); }
  static Reg Min(Reg a, Reg b) { return _mm512_min_ps(a, b); }
  static Reg Max(Reg a, Reg b) { return _mm512_max_ps(a, b); }
  static Reg Fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  // 14 bits of the instruction, doubled by one step of Newton's method.
  static Reg Reciprocal(Reg v) {
    const Reg guess = _mm512_rcp14_ps(v);
    return _mm512_fmadd_ps(_mm512_fnmadd_ps(v, guess, _mm512_set1_ps(1)), guess, guess);
  }
  static float Sum(Reg v) { return _mm512_reduce_add_ps(v); }
};

struct Avx512Fp32Store {
  using Element = float;
  static void Store(float* to, __m512 v) { Avx512::Store(to, v); }
  static void StorePart(float* to, __m512 v, int64_t count) { Avx512::StorePart(to, v, count); }
};

}  // namespace
}  // namespace vitrine::cpu

#endif  // VITRINE_MODELS_KERNELS_CPU_AVX512_H_
