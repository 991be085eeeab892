// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_KERNELS_CHANNEL_ATTENTION_KERNEL_H_
#define VITRINE_MODELS_REFERENCE_KERNELS_CHANNEL_ATTENTION_KERNEL_H_

#include <cstdint>

#include "models/reference/kernels/attention_kernel.h"

// This header is included by one file per instruction set; see common/simd/gelu.h.
namespace vitrine::cpu {

// Computes 1 / n for every column of x [tokens, width], where n is the Euclidean norm of the column, but at least
// `least`.
template <class V>
void InverseNorms(const float* x, int64_t tokens, int64_t width, float least, float* inverse) {
  for (int64_t c = 0; c < width; ++c) inverse[c] = 0;
  for (int64_t t = 0; t < tokens; ++t, x += width) {
    int64_t c = 0;
    for (; c + V::kLanes <= width; c += V::kLanes) {
      V::Store(inverse + c, V::Fma(V::Load(x + c), V::Load(x + c), V::Load(inverse + c)));
    }
    for (; c < width; ++c) inverse[c] += x[c] * x[c];
  }
  for (int64_t c = 0; c < width; ++c) {
    const float norm = __builtin_sqrtf(inverse[c]);
    inverse[c] = 1 / (norm > least ? norm : least);
  }
}

// Scratch memory for one head. Matrices are transposed, [key channel, query channel].
struct ChannelSpace {
  int64_t padded;  // width rounded up to whole vectors: row length of the transposed matrices
  float* q;        // [tokens, width], like k, v and dout
  float* k;
  float* v;
  float* dout;
  float* cosines;   // q^^T k^
  float* weights;   // softmax of tau * cosines
  float* dweights;  // gradient of the weights, overwritten in place
  float* straight;  // a matrix that is not transposed: [query channel, key channel]
  float* inverse_q;
  float* inverse_k;
};
template <class V, class E>
ChannelSpace Divide(const ChannelAttentionCall<E>& call) {
  const int64_t rows = call.tokens * call.width;
  const int64_t padded = (call.width + 15) / 16 * 16;
  ChannelSpace s{};
  s.padded = padded;
  s.q = call.scratch;
  s.k = s.q + rows;
  s.v = s.k + rows;
  s.dout = s.v + rows;
  s.cosines = s.dout + rows;
  s.weights = s.cosines + call.width * padded;
  s.dweights = s.weights + call.width * padded;
  s.straight = s.dweights + call.width * padded;
  s.inverse_q = s.straight + call.width * call.width;
  s.inverse_k = s.inverse_q + call.width;
  return s;
}

template <class V, class E>
void ChannelWeights(const ChannelAttentionCall<E>& call, int64_t head, const ChannelSpace& s) {
  const int64_t n = call.tokens, d = call.width, offset = head * d, padded = s.padded;
  WidenRows<V>(call.q + offset, call.q_stride, n, d, 1, s.q);
  WidenRows<V>(call.k + offset, call.k_stride, n, d, 1, s.k);
  WidenRows<V>(call.v + offset, call.v_stride, n, d, 1, s.v);
  InverseNorms<V>(s.q, n, d, call.least_norm, s.inverse_q);
  InverseNorms<V>(s.k, n, d, call.least_norm, s.inverse_k);
  RunProduct<V>({s.k, 1, d, s.q, d, d, n, d, s.cosines, padded});
  const float tau = call.temperature[head];
  for (int64_t b = 0; b < d; ++b) {
    float* const row = s.cosines + b * padded;
    float* const scores = s.weights + b * padded;
    for (int64_t a = 0; a < d; ++a) {
      row[a] *= s.inverse_k[b] * s.inverse_q[a];
      scores[a] = tau * row[a];
    }
    for (int64_t a = d; a < padded; ++a) row[a] = scores[a] = 0;
  }
  SoftmaxColumns<V>(s.weights, d, padded);
}

template <class V, class E>
void RunChannelAttention(const ChannelAttentionCall<E>& call) {
  const ChannelSpace s = Divide<V>(call);
  const int64_t n = call.tokens, d = call.width;
  for (int64_t head = 0; head < call.heads; ++head) {
    ChannelWeights<V>(call, head, s);
    RunProduct<V>({s.v, d, 1, s.weights, s.padded, n, d, d, s.q, d});
    NarrowRows<V>(s.q, n, d, call.out + head * d, call.heads * d);
  }
}

// Computes dx[t, c] -= x[t, c] * factor[c].
template <class V>
void SubtractScaled(const float* x, const float* factor, int64_t tokens, int64_t width, float* dx) {
  for (int64_t t = 0; t < tokens; ++t, x += width, dx += width) {
    int64_t c = 0;
    for (; c + V::kLanes <= width; c += V::kLanes) {
      V::Store(dx + c, V::Sub(V::Load(dx + c), V::Mul(V::Load(x + c), V::Load(factor + c))));
    }
    for (; c < width; ++c) dx[c] -= x[c] * factor[c];
  }
}

// Computes the gradients. * multiplies elementwise. For weights A = softmax(tau * C), C = q^^T k^ and out = v A^T: dA =
// dout^T v, dv = dout A, dC = tau * A * (dA - rowsum(A * dA)), dtau = sum of dC * C / tau, and, including the gradient
// through the lengths,
//   dq = k^ dC^T / |q| - q * rowsum(dC * C) / |q|^2,   dk = q^ dC / |k| - k * columnsum(dC * C) / |k|^2.
template <class V, class E>
void RunChannelAttentionGradient(const ChannelAttentionGradientCall<E>& call) {
  const ChannelAttentionCall<E>& forward = call.forward;
  const ChannelSpace s = Divide<V>(forward);
  const int64_t n = forward.tokens, d = forward.width, padded = s.padded, stride = forward.heads * d;
  for (int64_t head = 0; head < forward.heads; ++head) {
    const int64_t offset = head * d;
    ChannelWeights<V>(forward, head, s);
    WidenRows<V>(call.dout + offset, stride, n, d, 1, s.dout);
    RunProduct<V>({s.v, 1, d, s.dout, d, d, n, d, s.dweights, padded});
    for (int64_t b = 0; b < d; ++b) {
      for (int64_t a = d; a < padded; ++a) s.dweights[b * padded + a] = 0;
      for (int64_t a = 0; a < d; ++a) s.straight[a * d + b] = s.weights[b * padded + a];
    }
    RunProduct<V>({s.dout, d, 1, s.straight, d, n, d, d, s.v, d});
    NarrowRows<V>(s.v, n, d, call.dv + offset, stride);

    SoftmaxColumnsGradient<V>(s.weights, s.dweights, d, padded);
    const float tau = forward.temperature[head];
    // Terms of the gradient through the lengths. They overwrite the weights, which are no longer needed.
    float* const of_q = s.weights;
    float* const of_k = s.weights + padded;
    for (int64_t a = 0; a < d; ++a) of_q[a] = 0;
    float sum = 0;
    for (int64_t b = 0; b < d; ++b) {
      float of_row = 0;
      for (int64_t a = 0; a < d; ++a) {
        const float part = s.dweights[b * padded + a] * s.cosines[b * padded + a];
        of_q[a] += part;
        of_row += part;
        s.dweights[b * padded + a] *= tau * s.inverse_k[b] * s.inverse_q[a];
        s.straight[a * d + b] = s.dweights[b * padded + a];
      }
      of_k[b] = of_row;
      sum += of_row;
    }
    call.dtemperature[head] += sum;
    const float longest = 1 / forward.least_norm;
    for (int64_t c = 0; c < d; ++c) {
      // The forward pass replaced every length below the lower limit by the limit, a constant. The gradient through
      // such a length is 0.
      of_q[c] *= s.inverse_q[c] < longest ? tau * s.inverse_q[c] * s.inverse_q[c] : 0;
      of_k[c] *= s.inverse_k[c] < longest ? tau * s.inverse_k[c] * s.inverse_k[c] : 0;
    }
    RunProduct<V>({s.k, d, 1, s.dweights, padded, n, d, d, s.v, d});
    SubtractScaled<V>(s.q, of_q, n, d, s.v);
    NarrowRows<V>(s.v, n, d, call.dq + offset, stride);
    RunProduct<V>({s.q, d, 1, s.straight, d, n, d, d, s.v, d});
    SubtractScaled<V>(s.k, of_k, n, d, s.v);
    NarrowRows<V>(s.v, n, d, call.dk + offset, stride);
  }
}

}  // namespace vitrine::cpu

#endif  // VITRINE_MODELS_REFERENCE_KERNELS_CHANNEL_ATTENTION_KERNEL_H_
