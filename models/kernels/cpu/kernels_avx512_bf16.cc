// SPDX-License-Identifier: Apache-2.0
// The bf16 kernels for AVX-512 with AVX512_BF16; see kernels_avx512.cc.
#include "models/kernels/cpu/avx512.h"
#include "models/kernels/cpu/depthwise_kernel.h"
#include "models/kernels/cpu/kernel_table.h"
#include "models/kernels/cpu/layer_norm_kernel.h"
#include "models/kernels/cpu/linear_kernel.h"
#include "models/kernels/cpu/product_kernel.h"
#include "models/kernels/cpu/training_kernels.h"

namespace vitrine::cpu {
namespace {

// A step multiplies two adjacent inputs and adds both products to the fp32 sum, in the order of the instruction.
struct Bf16Products {
  using Element = Bf16;
  using Weights = __m512bh;
  static constexpr int kDepth = 2;
  static constexpr int kTileRows = 6;
  static constexpr int kTileVectors = 4;
  static Weights LoadWeights(const Bf16* from) { return (__m512bh)_mm512_load_si512(from); }
  static __m512bh Splat(const Bf16* from) {
    int pair;
    __builtin_memcpy(&pair, from, sizeof(pair));
    return (__m512bh)_mm512_set1_epi32(pair);
  }
  static __m512 MultiplyAdd(__m512bh x, Weights w, __m512 sum) { return _mm512_dpbf16_ps(sum, x, w); }
  static void Store(Bf16* to, __m512 v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), (__m256i)_mm512_cvtneps_pbh(v));
  }
  // Fills up to a whole pair; callers give zeros behind the last element.
  static void StorePart(Bf16* to, __m512 v, int64_t count) {
    _mm256_mask_storeu_epi16(to, Avx512::First((count + 1) / 2 * 2), (__m256i)_mm512_cvtneps_pbh(v));
  }
};

}  // namespace

const KernelTable kAvx512Bf16 = {.path = CpuPath::kAvx512,
                                 .precision = Precision::kBf16,
                                 .panel_columns = Bf16Products::kTileVectors * Avx512::kLanes,
                                 .vector_columns = Avx512::kLanes,
                                 .linear = RunLinear<Avx512, Bf16Products, Avx512Fp32Store>,
                                 .normalize_rows = RunNormalizeRows<Avx512, Bf16Products>,
                                 .layer_norm = RunLayerNorm<Avx512>,
                                 .gelu = RunGelu<Avx512>,
                                 .product = RunProduct<Avx512>,
                                 .depthwise = RunDepthwise<Avx512>,
                                 .max_over_rows = RunMaxOverRows<Avx512>,
                                 .training = TrainingOf<Avx512>()};

}  // namespace vitrine::cpu
