// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_KERNELS_TRAINING_KERNELS_H_
#define VITRINE_MODELS_REFERENCE_KERNELS_TRAINING_KERNELS_H_

#include <cstdint>

#include "common/simd/gelu.h"
#include "common/simd/row_statistics.h"
#include "models/reference/kernels/attention_kernel.h"
#include "models/reference/kernels/channel_attention_kernel.h"
#include "models/reference/kernels/training_table.h"

// This header is included by one file per instruction set; see common/simd/gelu.h.
namespace vitrine::cpu {

// Calls body(first column, load, store) for every vector of `columns`. `load` and `store` handle whole vectors and the
// last, partial vector, of floats or of Bf16.
template <class V, class Body>
[[gnu::always_inline]] inline void ForVectors(int64_t columns, Body body) {
  int64_t j = 0;
  for (; j + V::kLanes <= columns; j += V::kLanes) {
    body(
        j, [](const auto* from) { return V::Load(from); }, [](auto* to, typename V::Reg v) { V::Store(to, v); });
  }
  if (const int64_t rest = columns - j; rest > 0) {
    body(
        j, [rest](const auto* from) { return V::LoadPart(from, rest); },
        [rest](auto* to, typename V::Reg v) { V::StorePart(to, v, rest); });
  }
}

template <class V>
void RunMaxOverRows(const float* rows, int64_t count, int64_t width, float* largest, uint8_t* winner) {
  ForVectors<V>(width, [&](int64_t j, auto load, auto store) {
    auto most = load(rows + j);
    auto row_of = V::Broadcast(0);
    for (int64_t row = 1; row < count; ++row) {
      const auto value = load(rows + row * width + j);
      row_of = V::WhereGreater(value, most, V::Broadcast(static_cast<float>(row)), row_of);
      most = V::Max(most, value);
    }
    store(largest + j, most);
    float row_numbers[V::kLanes];
    V::Store(row_numbers, row_of);
    const int64_t lanes = width - j < V::kLanes ? width - j : V::kLanes;
    for (int64_t i = 0; i < lanes; ++i) winner[j + i] = static_cast<uint8_t>(row_numbers[i]);
  });
}

template <class V, class E>
void RunNorm(const NormCall<E>& call) {
  for (int64_t i = 0; i < call.x.rows; ++i) {
    const float* const row = call.x.Row(i);
    const auto statistics = StatisticsOf<V, 1>(row, 0, call.x.columns, call.epsilon);
    const auto center = V::Broadcast(statistics.center[0]), scale = V::Broadcast(statistics.scale[0]);
    E* const y = call.y + i * call.x.columns;
    ForVectors<V>(call.x.columns, [&](int64_t j, auto load, auto store) {
      const auto normalized = V::Mul(V::Sub(load(row + j), center), scale);
      store(y + j, V::Fma(normalized, load(call.weight + j), load(call.bias + j)));
    });
    call.statistics[2 * i] = statistics.center[0];
    call.statistics[2 * i + 1] = statistics.scale[0];
  }
}

// Computes dx = (g - mean(g) - n * mean(g * n)) * s, where s = 1 / sqrt(variance + epsilon), n = (x - mean) * s and g =
// dy * weight. Adds the gradients of the weight and the bias to call.dweight and call.dbias.
template <class V, class E>
void RunNormGradient(const NormGradientCall<E>& call) {
  const int64_t columns = call.x.columns;
  const float share = 1.0f / static_cast<float>(columns);
  for (int64_t i = 0; i < call.x.rows; ++i) {
    const float* const row = call.x.Row(i);
    const E* const dy = call.dy + i * columns;
    float* const dx = call.dx + i * columns;
    const auto center = V::Broadcast(call.statistics[2 * i]);
    const auto scale = V::Broadcast(call.statistics[2 * i + 1]);
    auto sum = V::Broadcast(0), product = V::Broadcast(0);
    ForVectors<V>(columns, [&](int64_t j, auto load, auto store) {
      const auto normalized = V::Mul(V::Sub(load(row + j), center), scale);
      const auto gradient = load(dy + j);
      store(call.dweight + j, V::Fma(gradient, normalized, load(call.dweight + j)));
      store(call.dbias + j, V::Add(gradient, load(call.dbias + j)));
      const auto scaled = V::Mul(gradient, load(call.weight + j));  // zero in lanes after the last column
      sum = V::Add(sum, scaled);
      product = V::Fma(scaled, normalized, product);
    });
    const auto mean = V::Broadcast(V::Sum(sum) * share);
    const auto slope = V::Broadcast(V::Sum(product) * share);
    ForVectors<V>(columns, [&](int64_t j, auto load, auto store) {
      const auto normalized = V::Mul(V::Sub(load(row + j), center), scale);
      const auto scaled = V::Mul(load(dy + j), load(call.weight + j));
      store(dx + j, V::Mul(scale, V::Sub(V::Sub(scaled, mean), V::Mul(normalized, slope))));
    });
  }
}

template <class V, class E>
void RunTrainingGelu(const E* x, E* y, int64_t count) {
  ForVectors<V>(count, [&](int64_t j, auto load, auto store) { store(y + j, GeluOf<V>(load(x + j))); });
}

// Returns the derivative of GELU(x) = x Phi(x), which is Phi(x) + x phi(x), with the density phi of N(0, 1).
template <class V>
[[gnu::always_inline]] inline typename V::Reg GeluSlopeOf(typename V::Reg x) {
  const auto density = V::Mul(V::Broadcast(0.3989422804f), ExpOf<V>(V::Mul(V::Mul(x, x), V::Broadcast(-0.5f))));
  return V::Fma(x, density, V::Add(V::Broadcast(0.5f), HalfErfOf<V>(x)));
}

template <class V, class E>
void RunGeluGradient(const E* x, const E* dy, E* dx, int64_t count) {
  ForVectors<V>(count, [&](int64_t j, auto load, auto store) {
    store(dx + j, V::Mul(load(dy + j), GeluSlopeOf<V>(load(x + j))));
  });
}

template <class V, class E>
void RunAddBranch(const BranchCall<E>& call) {
  for (int64_t i = 0; i < call.rows; ++i) {
    const int64_t row = i * call.columns;
    ForVectors<V>(call.columns, [&](int64_t j, auto load, auto store) {
      const auto y = load(call.y + row + j), x = load(call.x + row + j);
      store(call.z + row + j, call.scale == nullptr ? V::Add(x, y) : V::Fma(y, load(call.scale + j), x));
    });
  }
}

template <class V, class E>
void RunBranchGradient(const BranchGradientCall<E>& call) {
  for (int64_t i = 0; i < call.rows; ++i) {
    const int64_t row = i * call.columns;
    ForVectors<V>(call.columns, [&](int64_t j, auto load, auto store) {
      auto gradient = load(call.dz + row + j);
      if (call.scale != nullptr) {
        store(call.dscale + j, V::Fma(gradient, load(call.y + row + j), load(call.dscale + j)));
        gradient = V::Mul(gradient, load(call.scale + j));
      }
      store(call.dy + row + j, gradient);
    });
  }
}

template <class V, class E>
void RunColumnSums(View<const E> x, float* sums) {
  constexpr int kRows = 8;  // number of rows per iteration; with several rows, sums are read and written less often
  int64_t i = 0;
  for (; i + kRows <= x.rows; i += kRows) {
    const E* const row = x.Row(i);
    ForVectors<V>(x.columns, [&](int64_t j, auto load, auto store) {
      auto sum = load(sums + j);
      for (int k = 0; k < kRows; ++k) sum = V::Add(sum, load(row + k * x.stride + j));
      store(sums + j, sum);
    });
  }
  for (; i < x.rows; ++i) {
    const E* const row = x.Row(i);
    ForVectors<V>(x.columns,
                  [&](int64_t j, auto load, auto store) { store(sums + j, V::Add(load(sums + j), load(row + j))); });
  }
}

template <class V, class E>
void RunColumnSquares(View<const E> x, const float* center, float* sums) {
  for (int64_t i = 0; i < x.rows; ++i) {
    const E* const row = x.Row(i);
    ForVectors<V>(x.columns, [&](int64_t j, auto load, auto store) {
      const auto distance = V::Sub(load(row + j), load(center + j));
      store(sums + j, V::Fma(distance, distance, load(sums + j)));
    });
  }
}

template <class V, class E>
void RunColumnNorm(const ColumnNormCall<E>& call) {
  for (int64_t i = 0; i < call.rows; ++i) {
    const int64_t row = i * call.columns;
    ForVectors<V>(call.columns, [&](int64_t j, auto load, auto store) {
      const auto normalized = V::Mul(V::Sub(load(call.x + row + j), load(call.mean + j)), load(call.inverse + j));
      const auto z = V::Fma(normalized, load(call.weight + j), load(call.bias + j));
      store(call.y + row + j, call.gelu ? GeluOf<V>(z) : z);
    });
  }
}

// Adds up g and g * n over the rows, where n = (x - mean) * inverse and g is the gradient of z. With kSumsAreKnown,
// computes dx = weight * inverse * (g - mean(g) - n * mean(g * n)) from the sums over all rows.
template <class V, class E, bool kSumsAreKnown>
void RunColumnNormGradient(const ColumnNormGradientCall<E>& call) {
  const ColumnNormCall<E>& forward = call.forward;
  const auto share = V::Broadcast(1.0f / static_cast<float>(forward.rows));
  for (int64_t i = 0; i < forward.rows; ++i) {
    const int64_t row = i * forward.columns;
    ForVectors<V>(forward.columns, [&](int64_t j, auto load, auto store) {
      const auto inverse = load(forward.inverse + j), weight = load(forward.weight + j);
      const auto normalized = V::Mul(V::Sub(load(forward.x + row + j), load(forward.mean + j)), inverse);
      auto gradient = load(call.dy + row + j);
      if (forward.gelu) {
        gradient = V::Mul(gradient, GeluSlopeOf<V>(V::Fma(normalized, weight, load(forward.bias + j))));
      }
      const auto sum = load(call.dbias + j), product = load(call.dweight + j);
      if constexpr (kSumsAreKnown) {
        const auto common = V::Mul(share, V::Fma(normalized, product, sum));
        store(call.dx + row + j, V::Mul(V::Mul(weight, inverse), V::Sub(gradient, common)));
      } else {
        store(call.dbias + j, V::Add(sum, gradient));
        store(call.dweight + j, V::Fma(gradient, normalized, product));
      }
    });
  }
}

// Processes one vector of channels at a time, so that the nine sums of each channel stay in registers.
template <class V>
void RunDepthwiseGradient(const DepthwiseGradientCall& call) {
  const int64_t tokens = call.rows * call.columns;
  for (int64_t token = 0; token < tokens; ++token) {
    for (int k = 0; k < 9; ++k) {
      const int64_t r = token / call.columns + k / 3 - 1, c = token % call.columns + k % 3 - 1;
      const bool inside = r >= 0 && r < call.rows && c >= 0 && c < call.columns;
      call.taps[token * 9 + k] = inside ? call.x + (r * call.columns + c) * call.channels : call.zeros;
    }
  }
  ForVectors<V>(call.channels, [&](int64_t channel, auto load, auto store) {
    typename V::Reg sums[9];
    for (int k = 0; k < 9; ++k) sums[k] = load(call.dweights + k * call.channels + channel);
    auto bias = load(call.dbias + channel);
    for (int64_t token = 0; token < tokens; ++token) {
      const auto gradient = load(call.dy + token * call.channels + channel);
      bias = V::Add(bias, gradient);
      for (int k = 0; k < 9; ++k) sums[k] = V::Fma(gradient, load(call.taps[token * 9 + k] + channel), sums[k]);
    }
    for (int k = 0; k < 9; ++k) store(call.dweights + k * call.channels + channel, sums[k]);
    store(call.dbias + channel, bias);
  });
}

template <class V, class E>
constexpr TrainingKernels<E> TrainingKernelsOf() {
  return {.norm = RunNorm<V, E>,
          .norm_gradient = RunNormGradient<V, E>,
          .gelu = RunTrainingGelu<V, E>,
          .gelu_gradient = RunGeluGradient<V, E>,
          .add_branch = RunAddBranch<V, E>,
          .branch_gradient = RunBranchGradient<V, E>,
          .column_sums = RunColumnSums<V, E>,
          .column_squares = RunColumnSquares<V, E>,
          .column_norm = RunColumnNorm<V, E>,
          .column_norm_sums = RunColumnNormGradient<V, E, false>,
          .column_norm_gradient = RunColumnNormGradient<V, E, true>,
          .attention = RunAttention<V, E>,
          .attention_gradient = RunAttentionGradient<V, E>,
          .channel_attention = RunChannelAttention<V, E>,
          .channel_attention_gradient = RunChannelAttentionGradient<V, E>};
}

template <class V>
constexpr TrainingTable TrainingOf() {
  return {.fp32 = TrainingKernelsOf<V, float>(),
          .bf16 = TrainingKernelsOf<V, Bf16>(),
          .depthwise_gradient = RunDepthwiseGradient<V>};
}

}  // namespace vitrine::cpu

#endif  // VITRINE_MODELS_REFERENCE_KERNELS_TRAINING_KERNELS_H_
