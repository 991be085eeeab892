// SPDX-License-Identifier: Apache-2.0
// The fp32 kernels for AVX-512. Built with its flags (models/prepared.cmake), so it includes nothing of the library
// whose inline functions other files share.
#include "models/kernels/cpu/avx512.h"
#include "models/kernels/cpu/depthwise_kernel.h"
#include "models/kernels/cpu/kernel_table.h"
#include "models/kernels/cpu/layer_norm_kernel.h"
#include "models/kernels/cpu/linear_kernel.h"
#include "models/kernels/cpu/product_kernel.h"
#include "models/kernels/cpu/training_kernels.h"

namespace vitrine::cpu {
namespace {

// 24 of the 32 registers hold sums, four hold weights: a step is ten loads for 24 multiply-adds.
struct Fp32Products : Avx512Fp32Store {
  using Weights = __m512;
  static constexpr int kDepth = 1;
  static constexpr int kTileRows = 6;
  static constexpr int kTileVectors = 4;
  static Weights LoadWeights(const float* from) { return _mm512_load_ps(from); }
  static __m512 Splat(const float* from) { return _mm512_set1_ps(*from); }
  static __m512 MultiplyAdd(__m512 x, Weights w, __m512 sum) { return _mm512_fmadd_ps(x, w, sum); }
};

}  // namespace

const KernelTable kAvx512Fp32 = {.path = CpuPath::kAvx512,
                                 .precision = Precision::kFp32,
                                 .panel_columns = Fp32Products::kTileVectors * Avx512::kLanes,
                                 .vector_columns = Avx512::kLanes,
                                 .linear = RunLinear<Avx512, Fp32Products, Fp32Products>,
                                 .normalize_rows = RunNormalizeRows<Avx512, Fp32Products>,
                                 .layer_norm = RunLayerNorm<Avx512>,
                                 .gelu = RunGelu<Avx512>,
                                 .product = RunProduct<Avx512>,
                                 .depthwise = RunDepthwise<Avx512>,
                                 .max_over_rows = RunMaxOverRows<Avx512>,
                                 .training = TrainingOf<Avx512>()};

}  // namespace vitrine::cpu
