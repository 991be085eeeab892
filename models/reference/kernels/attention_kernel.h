// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_KERNELS_ATTENTION_KERNEL_H_
#define VITRINE_MODELS_REFERENCE_KERNELS_ATTENTION_KERNEL_H_

#include <cstdint>

#include "common/simd/product_kernel.h"
#include "common/simd/softmax.h"
#include "models/reference/kernels/training_table.h"

// This header is included by one file per instruction set; see common/simd/gelu.h.
namespace vitrine::cpu {

// Converts a matrix [rows, columns] at `from` to floats, multiplies it by `factor`, and writes it to `to` contiguously.
template <class V, class E>
void WidenRows(const E* from, int64_t stride, int64_t rows, int64_t columns, float factor, float* to) {
  const auto scale = V::Broadcast(factor);
  for (int64_t i = 0; i < rows; ++i, from += stride, to += columns) {
    int64_t j = 0;
    for (; j + V::kLanes <= columns; j += V::kLanes) V::Store(to + j, V::Mul(scale, V::Load(from + j)));
    if (j < columns) V::StorePart(to + j, V::Mul(scale, V::LoadPart(from + j, columns - j)), columns - j);
  }
}

template <class V, class E>
void NarrowRows(const float* from, int64_t rows, int64_t columns, E* to, int64_t stride) {
  for (int64_t i = 0; i < rows; ++i, from += columns, to += stride) {
    int64_t j = 0;
    for (; j + V::kLanes <= columns; j += V::kLanes) V::Store(to + j, V::Load(from + j));
    if (j < columns) V::StorePart(to + j, V::LoadPart(from + j, columns - j), columns - j);
  }
}

// Computes y[j, i] = x[i, j]; rows of y are `stride` apart and padded with zeros.
template <class V>
void TransposeRows(const float* x, int64_t rows, int64_t columns, float* y, int64_t stride) {
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) y[j * stride + i] = x[i * columns + j];
    for (int64_t i = rows; i < stride; ++i) y[j * stride + i] = 0;
  }
}

// Computes the gradient of a softmax over each column: `dw` becomes w * (dw - s); s is the column's sum of w * dw.
template <class V>
void SoftmaxColumnsGradient(const float* w, float* dw, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < columns; i += V::kLanes) {
    auto sum = V::Broadcast(0);
    for (int64_t j = 0; j < rows; ++j) {
      sum = V::Fma(V::Load(w + j * columns + i), V::Load(dw + j * columns + i), sum);
    }
    for (int64_t j = 0; j < rows; ++j) {
      float* const at = dw + j * columns + i;
      V::Store(at, V::Mul(V::Load(w + j * columns + i), V::Sub(V::Load(at), sum)));
    }
  }
}

// Scratch memory for one head. Attention weights are transposed, [key, query]. A vector then holds the weights of
// several queries, and the softmax needs no sum within a vector.
struct AttentionSpace {
  int64_t padded;  // tokens rounded up to whole vectors
  float* weights;  // [tokens, padded]
  float* dweights;
  float* flat;  // [width, padded]: scaled queries, transposed
  float* flat_dout;
  float* q;  // [tokens, width], like k, v and dout
  float* k;
  float* v;
  float* dout;
};
template <class V, class E>
AttentionSpace Divide(const AttentionCall<E>& call) {
  const int64_t padded = (call.tokens + 15) / 16 * 16;
  const int64_t matrix = call.tokens * call.width;
  AttentionSpace s{};
  s.padded = padded;
  s.weights = call.scratch;
  s.dweights = s.weights + call.tokens * padded;
  s.flat = s.dweights + call.tokens * padded;
  s.flat_dout = s.flat + call.width * padded;
  s.q = s.flat_dout + call.width * padded;
  s.k = s.q + matrix;
  s.v = s.k + matrix;
  s.dout = s.v + matrix;
  return s;
}

// Computes weights[j, i] for every key j and query i. Also fills the fields q, k, v and flat of `s`.
template <class V, class E>
void AttentionWeights(const AttentionCall<E>& call, int64_t head, const AttentionSpace& s) {
  const int64_t d = call.width, offset = head * d;
  WidenRows<V>(call.q + offset, call.stride, call.tokens, d, call.scale, s.q);
  WidenRows<V>(call.k + offset, call.stride, call.tokens, d, 1, s.k);
  WidenRows<V>(call.v + offset, call.stride, call.tokens, d, 1, s.v);
  TransposeRows<V>(s.q, call.tokens, d, s.flat, s.padded);
  RunProduct<V>({s.k, d, 1, s.flat, s.padded, call.tokens, d, s.padded, s.weights, s.padded});
  SoftmaxColumns<V>(s.weights, call.tokens, s.padded);
}

template <class V, class E>
void RunAttention(const AttentionCall<E>& call) {
  const AttentionSpace s = Divide<V>(call);
  const int64_t n = call.tokens, d = call.width;
  for (int64_t head = 0; head < call.heads; ++head) {
    AttentionWeights<V>(call, head, s);
    RunProduct<V>({s.weights, 1, s.padded, s.v, d, n, n, d, s.q, d});
    NarrowRows<V>(s.q, n, d, call.out + head * d, call.out_stride);
  }
}

// Computes the gradients. * multiplies elementwise. For weights P = softmax(S), S = scale * q k^T and out = P v:
//   dv = P^T dout,  dP = dout v^T,  dS = P * (dP - rowsum(P * dP)),  dq = scale * dS k,  dk = scale * dS^T q.
template <class V, class E>
void RunAttentionGradient(const AttentionGradientCall<E>& call) {
  const AttentionCall<E>& forward = call.forward;
  const AttentionSpace s = Divide<V>(forward);
  const int64_t n = forward.tokens, d = forward.width, padded = s.padded;
  for (int64_t head = 0; head < forward.heads; ++head) {
    const int64_t offset = head * d;
    AttentionWeights<V>(forward, head, s);
    WidenRows<V>(call.dout + offset, forward.out_stride, n, d, 1, s.dout);
    TransposeRows<V>(s.dout, n, d, s.flat_dout, padded);
    RunProduct<V>({s.v, d, 1, s.flat_dout, padded, n, d, padded, s.dweights, padded});
    RunProduct<V>({s.weights, padded, 1, s.dout, d, n, n, d, s.v, d});
    NarrowRows<V>(s.v, n, d, call.dv + offset, call.gradient_stride);
    SoftmaxColumnsGradient<V>(s.weights, s.dweights, n, padded);
    RunProduct<V>({s.dweights, padded, 1, s.q, d, n, n, d, s.v, d});  // s.q contains scale * q
    NarrowRows<V>(s.v, n, d, call.dk + offset, call.gradient_stride);
    RunProduct<V>({s.dweights, 1, padded, s.k, d, n, n, d, s.v, d});
    WidenRows<V>(s.v, d, n, d, forward.scale, s.q);
    NarrowRows<V>(s.q, n, d, call.dq + offset, call.gradient_stride);
  }
}

}  // namespace vitrine::cpu

#endif  // VITRINE_MODELS_REFERENCE_KERNELS_ATTENTION_KERNEL_H_
