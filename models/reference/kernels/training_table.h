// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_KERNELS_TRAINING_TABLE_H_
#define VITRINE_MODELS_REFERENCE_KERNELS_TRAINING_TABLE_H_

#include <cstdint>

#include "common/simd/view.h"

// Training kernels: forward passes of layers, and their derivatives. A forward pass stores the values that the
// derivative needs. Arithmetic is fp32; E, float or Bf16, is the type that matrix products read and write. Arrays may
// have any alignment. A call runs on one thread.
namespace vitrine::cpu {

// Layer normalisation y = n(x) * weight + bias of every row, with n(x) = (x - mean) / sqrt(variance + epsilon).
template <class E>
struct NormCall {
  View<const float> x;
  float epsilon;
  const float* weight;  // [columns]
  const float* bias;    // [columns]
  E* y;                 // [rows, columns], contiguous
  float* statistics;    // [rows, 2]: mean and 1 / sqrt(variance + epsilon) of every row; output
};

// Computes dx from dy, and adds the gradients of weight and bias to dweight and dbias.
template <class E>
struct NormGradientCall {
  View<const float> x;
  const float* weight;
  const float* statistics;  // from the forward pass
  const E* dy;              // [rows, columns], contiguous
  float* dx;                // [rows, columns], contiguous
  float* dweight;           // [columns]
  float* dbias;             // [columns]
};

// Residual z = x + scale * y with branch y. Gradients: dy = scale * dz, dscale += sum over the rows of dz * y.
template <class E>
struct BranchCall {
  int64_t rows;
  int64_t columns;
  const float* x;      // [rows, columns], contiguous, like y and z
  const float* scale;  // [columns]; null: 1
  const E* y;
  float* z;
};
template <class E>
struct BranchGradientCall {
  int64_t rows;
  int64_t columns;
  const float* dz;
  const float* scale;  // [columns]; null: 1
  const E* y;          // used only with a scale
  E* dy;
  float* dscale;  // used only with a scale
};

// Batch normalisation of every column: y = z = (x - mean) * inverse * weight + bias, or y = GELU(z) if `gelu`.
template <class E>
struct ColumnNormCall {
  int64_t rows;
  int64_t columns;
  const E* x;  // [rows, columns], contiguous, like the other matrices
  const float* mean;
  const float* inverse;  // 1 / sqrt(variance + epsilon)
  const float* weight;
  const float* bias;
  bool gelu;
  E* y;
};
template <class E>
struct ColumnNormGradientCall {
  ColumnNormCall<E> forward;  // forward.y is not read
  const E* dy;
  E* dx;           // gradient of x, including the gradient through the mean and variance
  float* dweight;  // [columns], sums over the rows; dbias too
  float* dbias;
};

// Softmax attention of one image, head by head: out = softmax(scale * q k^T) v. Rows of q, k, v, out and the gradients
// are tokens, with heads side by side. `scratch` holds AttentionScratch() floats.
template <class E>
struct AttentionCall {
  const E* q;
  const E* k;
  const E* v;
  int64_t stride;  // row stride of q, k and v
  int64_t tokens;
  int64_t heads;
  int64_t width;  // channels per head
  float scale;
  E* out;
  int64_t out_stride;
  float* scratch;
};
template <class E>
struct AttentionGradientCall {
  AttentionCall<E> forward;  // forward.out is not read
  const E* dout;             // row stride: forward.out_stride
  E* dq;
  E* dk;
  E* dv;
  int64_t gradient_stride;
};

// Attention between the channels of one image (XCiT), head by head: out = v softmax(tau * q^^T k^)^T, where every
// channel of q^ and k^ has length 1 over the tokens. `scratch` holds ChannelAttentionScratch() floats.
template <class E>
struct ChannelAttentionCall {
  const E* q;
  const E* k;
  const E* v;
  int64_t q_stride;
  int64_t k_stride;
  int64_t v_stride;
  int64_t tokens;
  int64_t heads;
  int64_t width;
  const float* temperature;  // tau, [heads]
  float least_norm;          // lower limit of a channel's length when dividing by it
  E* out;                    // [tokens, heads * width], contiguous
  float* scratch;
};
template <class E>
struct ChannelAttentionGradientCall {
  ChannelAttentionCall<E> forward;  // forward.out is not read
  const E* dout;                    // [tokens, heads * width], contiguous, like dq, dk and dv
  E* dq;
  E* dk;
  E* dv;
  float* dtemperature;  // [heads]; the call adds the gradient to it
};

// Gradient of a depthwise 3x3 convolution: adds one image's gradients to dweights [9, channels] and dbias [channels].
struct DepthwiseGradientCall {
  const float* x;   // [rows * columns, channels], contiguous
  const float* dy;  // like x
  int64_t rows;
  int64_t columns;
  int64_t channels;
  const float* zeros;  // [channels] zeros
  const float** taps;  // scratch for 9 * rows * columns pointers
  float* dweights;
  float* dbias;
};

template <class E>
struct TrainingKernels {
  void (*norm)(const NormCall<E>& call);
  void (*norm_gradient)(const NormGradientCall<E>& call);
  void (*gelu)(const E* x, E* y, int64_t count);
  void (*gelu_gradient)(const E* x, const E* dy, E* dx, int64_t count);  // dx may be dy
  void (*add_branch)(const BranchCall<E>& call);
  void (*branch_gradient)(const BranchGradientCall<E>& call);
  void (*column_sums)(View<const E> x, float* sums);                          // adds to `sums`
  void (*column_squares)(View<const E> x, const float* center, float* sums);  // adds the squares of x - center
  void (*column_norm)(const ColumnNormCall<E>& call);
  void (*column_norm_sums)(const ColumnNormGradientCall<E>& call);  // adds only to dweight and dbias
  // computes dx from dy and the sums over all rows
  void (*column_norm_gradient)(const ColumnNormGradientCall<E>& call);
  void (*attention)(const AttentionCall<E>& call);
  void (*attention_gradient)(const AttentionGradientCall<E>& call);
  void (*channel_attention)(const ChannelAttentionCall<E>& call);
  void (*channel_attention_gradient)(const ChannelAttentionGradientCall<E>& call);
};

struct TrainingTable {
  TrainingKernels<float> fp32;
  TrainingKernels<Bf16> bf16;
  void (*depthwise_gradient)(const DepthwiseGradientCall& call);
};

// Returns the number of scratch floats that attention needs for one image's forward and backward passes.
[[gnu::always_inline]] inline int64_t AttentionScratch(int64_t tokens, int64_t width) {
  const int64_t padded = (tokens + 15) / 16 * 16;
  return padded * (2 * tokens + 2 * width + 1) + 4 * tokens * width;
}
[[gnu::always_inline]] inline int64_t ChannelAttentionScratch(int64_t tokens, int64_t width) {
  const int64_t padded = (width + 15) / 16 * 16;
  return 4 * tokens * width + width * (3 * padded + width) + 2 * padded + 2 * width;
}

}  // namespace vitrine::cpu

#endif  // VITRINE_MODELS_REFERENCE_KERNELS_TRAINING_TABLE_H_
