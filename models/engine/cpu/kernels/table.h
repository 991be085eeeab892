// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_KERNELS_TABLE_H_
#define VITRINE_MODELS_ENGINE_CPU_KERNELS_TABLE_H_

#include "common/simd/depthwise_kernel.h"
#include "common/simd/product_kernel.h"
#include "common/simd/softmax.h"
#include "models/engine/cpu/kernels/engine_gelu.h"
#include "models/engine/cpu/kernels/gemm_kernel.h"
#include "models/engine/cpu/kernels/kernels.h"
#include "models/engine/cpu/kernels/peak_kernel.h"
#include "models/engine/cpu/kernels/row_kernels.h"

// Templates for files that are compiled for one instruction set; see common/simd/gelu.h.
namespace vitrine::engine {

template <class V>
constexpr Kernels TableOf(cpu::CpuPath path) {
  return {.path = path,
          .vector_columns = V::kLanes,
          .panel_columns = kTileVectors * V::kLanes,
          .gemm = RunGemm<V>,
          .product = cpu::RunProduct<V>,
          .depthwise = cpu::RunDepthwise<V, EngineGelu>,
          .normalize = RunNormalize<V>,
          .layer_norm = RunLayerNorm<V>,
          .affine = RunAffine<V>,
          .add = RunAdd<V>,
          .activate = RunActivate<V>,
          .scale_to_length = RunScaleToLength<V>,
          .softmax_columns = cpu::SoftmaxColumns<V>,
          .softmax_row = cpu::SoftmaxRow<V>,
          .dots = RunDots<V>,
          .inverse_lengths = RunInverseLengths<V>,
          .multiply_adds_of_round = kChains * V::kLanes,
          .multiply_adds = RunMultiplyAdds<V>,
          .read = RunRead<V>};
}

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_KERNELS_TABLE_H_
