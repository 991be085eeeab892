// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/emulated/kernels.h"

#include <algorithm>

#include "models/engine/cuda/kernels/attention.cuh"
#include "models/engine/cuda/kernels/channel_attention.cuh"
#include "models/engine/cuda/kernels/convolutions.cuh"
#include "models/engine/cuda/kernels/fast/attention.cuh"
#include "models/engine/cuda/kernels/fast/attention_fp32.cuh"
#include "models/engine/cuda/kernels/fast/channel_attention.cuh"
#include "models/engine/cuda/kernels/fast/convolve.cuh"
#include "models/engine/cuda/kernels/fast/depthwise.cuh"
#include "models/engine/cuda/kernels/fast/gelu.cuh"
#include "models/engine/cuda/kernels/fast/linear_fp32.cuh"
#include "models/engine/cuda/kernels/fast/linear_tile.cuh"
#include "models/engine/cuda/kernels/fast/patches.cuh"
#include "models/engine/cuda/kernels/fast/perceptron.cuh"
#include "models/engine/cuda/kernels/fast/query_attention.cuh"
#include "models/engine/cuda/kernels/fast/rows.cuh"
#include "models/engine/cuda/kernels/linear.cuh"
#include "models/engine/cuda/kernels/primitives.cuh"
#include "models/engine/cuda/kernels/rows.cuh"

namespace vitrine::cuda::emulated {
namespace {

template <class Arguments>
Arguments ArgumentsOf(void (*)(const Arguments&));

template <auto kKernel>
NamedKernel Named(std::string_view name) {
  using Arguments = decltype(ArgumentsOf(kKernel));
  return {name, sizeof(Arguments), [](const void* arguments) { kKernel(*static_cast<const Arguments*>(arguments)); }};
}

}  // namespace

#define VITRINE_NAMED(kernel) Named<vitrine_##kernel>("vitrine_" #kernel)

const std::vector<NamedKernel>& Kernels() {
  static const auto* const kernels = new std::vector<NamedKernel>{
      VITRINE_NAMED(row_statistics),
      VITRINE_NAMED(affine),
      VITRINE_NAMED(activate),
      VITRINE_NAMED(add),
      VITRINE_NAMED(fill),
      VITRINE_NAMED(copy_rows),
      VITRINE_NAMED(mean_of_cells),
      VITRINE_NAMED(fast_row_statistics),
      VITRINE_NAMED(fast_layer_norm),
      VITRINE_NAMED(fast_affine),
      VITRINE_NAMED(fast_add),
      VITRINE_NAMED(fast_copy_rows),
      VITRINE_NAMED(linear_fp32),
      VITRINE_NAMED(linear_bf16),
      VITRINE_NAMED(quantize_rows),
      VITRINE_NAMED(linear_int8),
      VITRINE_NAMED(patchify),
      VITRINE_NAMED(convolve),
      VITRINE_NAMED(depthwise),
      VITRINE_NAMED(gather_neighbours),
      VITRINE_NAMED(convolve_pixels_16),
      VITRINE_NAMED(convolve_pixels_24),
      VITRINE_NAMED(convolve_pixels_32),
      VITRINE_NAMED(convolve_maps_16),
      VITRINE_NAMED(convolve_maps_24),
      VITRINE_NAMED(convolve_maps_32),
      VITRINE_NAMED(fast_patchify),
      VITRINE_NAMED(fast_gather_neighbours),
      VITRINE_NAMED(fast_depthwise),
      VITRINE_NAMED(fast_local),
      VITRINE_NAMED(unit_length),
      VITRINE_NAMED(attend),
      VITRINE_NAMED(attend_class),
      VITRINE_NAMED(attend_bf16),
      VITRINE_NAMED(attend_map),
      VITRINE_NAMED(inverse_lengths),
      VITRINE_NAMED(channel_products),
      VITRINE_NAMED(channel_scale),
      VITRINE_NAMED(channel_softmax),
      VITRINE_NAMED(channel_mix),
      VITRINE_NAMED(context),
      VITRINE_NAMED(context_scale),
      VITRINE_NAMED(query_factors),
      VITRINE_NAMED(context_mix),
      VITRINE_NAMED(attend_channels_16),
      VITRINE_NAMED(attend_channels_16_narrow),
      VITRINE_NAMED(attend_channels_32),
      VITRINE_NAMED(attend_channels_32_narrow),
      VITRINE_NAMED(attend_channels_48),
      VITRINE_NAMED(attend_channels_48_narrow),
      VITRINE_NAMED(attend_tokens_16),
      VITRINE_NAMED(attend_tokens_16_narrow),
      VITRINE_NAMED(attend_tokens_16_fp32),
      VITRINE_NAMED(attend_tokens_32),
      VITRINE_NAMED(attend_tokens_32_narrow),
      VITRINE_NAMED(attend_tokens_32_fp32),
      VITRINE_NAMED(attend_tokens_48),
      VITRINE_NAMED(attend_tokens_48_narrow),
      VITRINE_NAMED(attend_tokens_48_fp32),
      VITRINE_NAMED(attend_tokens_64),
      VITRINE_NAMED(attend_tokens_64_narrow),
      VITRINE_NAMED(attend_tokens_64_fp32),
      VITRINE_NAMED(attend_query),
      VITRINE_NAMED(primitive_floats),
      VITRINE_NAMED(primitive_products),
      VITRINE_NAMED(fast_linear_fp32),
      VITRINE_NAMED(fast_linear_bf16_128),
      VITRINE_NAMED(fast_linear_bf16_64),
      VITRINE_NAMED(fast_linear_bf16_long),
      VITRINE_NAMED(fast_linear_int8_128),
      VITRINE_NAMED(fast_linear_int8_64),
      VITRINE_NAMED(fast_perceptron_128),
      VITRINE_NAMED(fast_perceptron_192),
      VITRINE_NAMED(fast_perceptron_256),
  };
  return *kernels;
}

const NamedKernel* FindKernel(std::string_view name) {
  const auto found =
      std::find_if(Kernels().begin(), Kernels().end(), [&](const NamedKernel& kernel) { return kernel.name == name; });
  return found == Kernels().end() ? nullptr : &*found;
}

}  // namespace vitrine::cuda::emulated
