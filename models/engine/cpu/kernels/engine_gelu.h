// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_KERNELS_ENGINE_GELU_H_
#define VITRINE_MODELS_ENGINE_CPU_KERNELS_ENGINE_GELU_H_

#include "common/simd/gelu.h"

// Templates for files that are compiled for one instruction set; see common/simd/gelu.h.
namespace vitrine::engine {

// Coefficients, by ascending power, of polynomials that approximate erf(x / sqrt 2) / 2 for x >= 0. Around every
// multiple of kPieceWidth, there is one polynomial of degree 3, interpolated at Chebyshev nodes. The first polynomial
// is 0 at x = 0; the last is 1/2 from x = 5.48 on. The error is at most 1.9e-7; x times the error is at most 1.8e-7.
inline constexpr int kPieces = 32;
inline constexpr float kPieceWidth = 23.0F / 128;
alignas(64) inline constexpr float kPiecesOfHalfErf[4][kPieces] = {
    // clang-format off
    {
        0.0F, 0.0713009754F, 0.140342582F, 0.205077964F,
        0.263852329F, 0.315523646F, 0.359510862F, 0.395770104F,
        0.424711949F, 0.44708107F, 0.463822278F, 0.475954482F,
        0.484467972F, 0.490252801F, 0.494058971F, 0.496483909F,
        0.497979895F, 0.498873549F, 0.499390471F, 0.499680002F,
        0.499837031F, 0.499919498F, 0.499961434F, 0.499982084F,
        0.49999193F, 0.499996476F, 0.499998508F, 0.499999388F,
        0.499999756F, 0.499999906F, 0.499999965F, 0.5F,
    },
    {
        0.398942311F, 0.39255347F, 0.373994615F, 0.344992427F,
        0.308128207F, 0.266459392F, 0.223104476F, 0.180868613F,
        0.141969745F, 0.107896177F, 0.0793951487F, 0.0565665284F,
        0.0390213892F, 0.0260629494F, 0.0168547385F, 0.0105535383F,
        0.00639811088F, 0.00375563197F, 0.00213447893F, 0.00117456832F,
        0.000625809634F, 0.000322837329F, 0.00016125113F, 7.79828849e-05F,
        3.65151692e-05F, 1.65548332e-05F, 7.26697647e-06F, 3.08858909e-06F,
        1.27099525e-06F, 5.06413316e-07F, 1.95363613e-07F, 0.0F,
    },
    {
        -5.87039935e-06F, -0.0351981595F, -0.0670725394F, -0.0928169595F,
        -0.110548775F, -0.119522132F, -0.120118662F, -0.11364091F,
        -0.101976615F, -0.0872215034F, -0.0713424489F, -0.0559376411F,
        -0.0421165363F, -0.0304909652F, -0.0212475443F, -0.0142633427F,
        -0.00922987541F, -0.00576059065F, -0.00346919941F, -0.00201671922F,
        -0.00113201794F, -0.00061372028F, -0.000321438651F, -0.000162676134F,
        -7.95653873e-05F, -3.76154448e-05F, -1.71913151e-05F, -7.5963569e-06F,
        -3.24565041e-06F, -1.34103486e-06F, -5.35868103e-07F, 0.0F,
    },
    {
        -0.0663546565F, -0.0632390873F, -0.054225829F, -0.0407591714F,
        -0.0248213005F, -0.00858399559F, 0.00599764688F, 0.0174985411F,
        0.0251839568F, 0.0290049047F, 0.0294603497F, 0.0273848748F,
        0.0237255749F, 0.0193587529F, 0.0149737923F, 0.0110277914F,
        0.00775706702F, 0.00522338598F, 0.0033729239F, 0.00209145466F,
        0.00124665282F, 0.000714951683F, 0.000394778715F, 0.000210008349F,
        0.000107682319F, 5.32431821e-05F, 2.53954495e-05F, 1.16885114e-05F,
        5.1927248e-06F, 2.22725963e-06F, 9.22528986e-07F, 0.0F,
    },
    // clang-format on
};

// GELU of the engine. On paths with V::LookUp (a table of 32 values), it evaluates the polynomials above, which takes
// 14 operations instead of 21. On other paths, it is cpu::GeluOf.
struct EngineGelu {
  template <class V>
  [[gnu::always_inline]] static typename V::Reg Of(typename V::Reg x) {
    if constexpr (V::kLooksUp) {
      using Reg = typename V::Reg;
      const Reg size = V::Magnitude(x);
      const Reg u = V::Min(size, V::Broadcast(kPieceWidth * (kPieces - 1)));
      // After 2^23 is added, the lowest bits hold the nearest integer.
      const Reg whole = V::Broadcast(8388608.0F);
      const Reg piece = V::Fma(u, V::Broadcast(1 / kPieceWidth), whole);
      const Reg d = V::Fma(V::Sub(whole, piece), V::Broadcast(kPieceWidth), u);
      Reg h = V::LookUp(kPiecesOfHalfErf[3], piece);
      h = V::Fma(h, d, V::LookUp(kPiecesOfHalfErf[2], piece));
      h = V::Fma(h, d, V::LookUp(kPiecesOfHalfErf[1], piece));
      h = V::Fma(h, d, V::LookUp(kPiecesOfHalfErf[0], piece));
      return V::Fma(size, h, V::Mul(V::Broadcast(0.5F), x));
    } else {
      return cpu::GeluOf<V>(x);
    }
  }
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_KERNELS_ENGINE_GELU_H_
