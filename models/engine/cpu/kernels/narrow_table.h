// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_KERNELS_NARROW_TABLE_H_
#define VITRINE_MODELS_ENGINE_CPU_KERNELS_NARROW_TABLE_H_

#include "common/simd/depthwise_kernel.h"
#include "models/engine/cpu/kernels/narrow_attention_kernel.h"
#include "models/engine/cpu/kernels/narrow_gemm_kernel.h"
#include "models/engine/cpu/kernels/narrow_rows_kernel.h"
#include "models/engine/cpu/kernels/peak_kernel.h"

// Templates for files that are compiled for one instruction set; see common/simd/gelu.h.
namespace vitrine::engine {

// Implements RunMultiplyAdds (peak_kernel.h) for groups. Every chain of multiply-adds begins with a different group, so
// that the compiler cannot merge two chains.
template <class N>
float RunNarrowMultiplyAdds(int64_t rounds) {
  std::byte groups[kGroupBytes * N::V::kLanes] = {};
  typename N::Sums sums[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) {
    groups[0] = static_cast<std::byte>(i + rounds);
    sums[i] = N::Dot(N::Load(groups), N::Load(groups), N::Zero());
  }
  auto factor = N::Load(groups);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) {
#if defined(__x86_64__)
      asm("" : "+x"(factor));  // keeps the chains from sharing one product
#endif
      sums[i] = N::Dot(factor, factor, sums[i]);
    }
  }
  auto sum = N::Floats(sums[0]);
#pragma GCC unroll 12
  for (int i = 1; i < kChains; ++i) sum = N::V::Add(sum, N::Floats(sums[i]));
  return FirstLane<typename N::V>(sum);
}

template <class N>
constexpr NarrowKernels NarrowTableOf() {
  using V = typename N::V;
  NarrowKernels table = {.of_bytes = N::kOfBytes,
                         .numbers_of_group = N::kNumbers,
                         .vector_columns = V::kLanes,
                         .panel_columns = kTileVectors * V::kLanes,
                         .gemm = RunNarrowGemm<N>,
                         .take = nullptr,
                         .depthwise = cpu::RunDepthwise<V, NarrowGelu>,
                         .pack_inputs = nullptr,
                         .pack_outputs = nullptr,
                         .softmax_rows = nullptr,
                         .multiply_adds_of_round = int64_t{kChains} * V::kLanes * N::kNumbers,
                         .multiply_adds = RunNarrowMultiplyAdds<N>};
  if constexpr (N::kOfBytes) {
    table.take = TakeBytes<N>;
  } else {
    table.take = TakeBf16<V>;
    table.pack_inputs = PackInputs<N>;
    table.pack_outputs = PackOutputs<N>;
    table.softmax_rows = SoftmaxRows<N>;
  }
  return table;
}

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_KERNELS_NARROW_TABLE_H_
