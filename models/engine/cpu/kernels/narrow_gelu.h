// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_KERNELS_NARROW_GELU_H_
#define VITRINE_MODELS_ENGINE_CPU_KERNELS_NARROW_GELU_H_

#include "models/engine/cpu/kernels/engine_gelu.h"

// Templates for files that are compiled for one instruction set; see common/simd/gelu.h.
namespace vitrine::engine {

// Coefficients, by ascending power, of polynomials that approximate GELU(x) = x (1/2 + erf(x / sqrt 2) / 2). Around
// each multiple of kWidth from -16 to 15, there is one polynomial of degree 2, interpolated at Chebyshev nodes. Beyond
// the outermost polynomials, the result is 0 or x. The error is at most 9.4e-5.
struct NarrowPieces {
  static constexpr float kWidth = 36.0F / 128;
  static constexpr float kBelow = 16, kAbove = 15;  // numbers of pieces below 0 and above 0
  alignas(64) static constexpr float kCoefficients[3][kPieces] = {
      // clang-format off
      {
          0.0F, -0.00877829641F, -0.0209123511F, -0.0451052673F,
          -0.0877920687F, -0.153562203F, -0.24010089F, -0.333215445F,
          -0.406565994F, -0.430315852F, -0.387385577F, -0.287669748F,
          -0.167345032F, -0.0691471025F, -0.0161947254F, -0.000971247617F,
          0.0F, -0.000971247617F, -0.0161947254F, -0.0691471025F,
          -0.167345032F, -0.287669748F, -0.387385577F, -0.430315852F,
          -0.406565994F, -0.333215445F, -0.24010089F, -0.153562203F,
          -0.0877920687F, -0.0451052673F, -0.0209123511F, 0.0F,
      },
      {
          0.0F, -0.00391158881F, -0.00988636166F, -0.0226783324F,
          -0.0470466986F, -0.0878380761F, -0.146578178F, -0.216341168F,
          -0.277567327F, -0.299597114F, -0.251729518F, -0.121632867F,
          0.069544822F, 0.269382924F, 0.419136494F, 0.489162177F,
          0.5F, 0.510837853F, 0.580863476F, 0.730617106F,
          0.930455208F, 1.12163281F, 1.25172949F, 1.29959714F,
          1.27756727F, 1.21634114F, 1.14657819F, 1.08783805F,
          1.04704666F, 1.02267838F, 1.00988638F, 1.0F,
      },
      {
          0.0F, -0.000436880742F, -0.00117243314F, -0.00286353915F,
          -0.00634172186F, -0.0126674846F, -0.0226371102F, -0.0357070006F,
          -0.0484870225F, -0.0535948649F, -0.0402496792F, 0.00220965757F,
          0.0782235041F, 0.180065751F, 0.286292315F, 0.367488623F,
          0.397958308F, 0.367488623F, 0.286292315F, 0.180065751F,
          0.0782235041F, 0.00220965757F, -0.0402496792F, -0.0535948649F,
          -0.0484870225F, -0.0357070006F, -0.0226371102F, -0.0126674846F,
          -0.00634172186F, -0.00286353915F, -0.00117243314F, 0.0F,
      },
      // clang-format on
  };
};

// GELU after a product in bf16 or int8. The result is usually rounded to bf16 or int8 next, so NarrowGelu need not be
// as exact as EngineGelu. Its error is a twentieth of bf16's rounding error near 1. On paths with V::LookUp (a table of
// 32 values), NarrowGelu needs 8 operations, and EngineGelu needs 14. On other paths, NarrowGelu is cpu::GeluOf.
struct NarrowGelu {
  template <class V>
  [[gnu::always_inline]] static typename V::Reg Of(typename V::Reg x) {
    if constexpr (V::kLooksUp) {
      using Reg = typename V::Reg;
      constexpr float kWidth = NarrowPieces::kWidth, kBelow = NarrowPieces::kBelow;
      const Reg inside = V::Min(V::Max(x, V::Broadcast(-kWidth * kBelow)), V::Broadcast(kWidth * NarrowPieces::kAbove));
      // After 2^23 is added, the lowest bits hold the nearest integer.
      const Reg piece = V::Fma(inside, V::Broadcast(1 / kWidth), V::Broadcast(8388608.0F + kBelow));
      const Reg slope =
          V::Fma(x, V::LookUp(NarrowPieces::kCoefficients[2], piece), V::LookUp(NarrowPieces::kCoefficients[1], piece));
      return V::Fma(x, slope, V::LookUp(NarrowPieces::kCoefficients[0], piece));
    } else {
      return cpu::GeluOf<V>(x);
    }
  }
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_KERNELS_NARROW_GELU_H_
