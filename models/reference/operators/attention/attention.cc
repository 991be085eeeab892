// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/attention/attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "models/reference/operators/attention/capture.h"
#include "models/reference/operators/cpu_kernels.h"
#include "models/reference/operators/dropout.h"
#include "models/reference/operators/held_layout.h"
#include "models/reference/operators/token_sequence.h"

namespace vitrine {
namespace {

class AttentionFunction : public torch::autograd::Function<AttentionFunction> {
 public:
  // Computes the attention's output [T, heads * width], in the type of qkv, from qkv [T, 3, heads, width] of T tokens.
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& qkv,
                            const std::shared_ptr<const TokenLayout>& layout) {
    const at::Tensor rows = qkv.contiguous();
    context->save_for_backward({rows});
    context->saved_data["layout"] = HoldLayout(layout);
    const int64_t width = qkv.size(2) * qkv.size(3);
    at::Tensor out = at::empty({qkv.size(0), width}, qkv.options());
    out.slice(0, layout->total_tokens()).zero_();
    const std::unique_ptr<float[]> scratch = Scratch(*layout, qkv.size(3));
    WithKernels(qkv.scalar_type(), [&]<class E>(const cpu::TrainingKernels<E>& kernels, E) {
      for (int image = 0; image < layout->images(); ++image) {
        cpu::AttentionCall<E> call = CallFor<E>(rows, *layout, image, scratch.get());
        call.out = MutableElements<E>(out) + layout->offset(image) * width;
        kernels.attention(call);
      }
    });
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const at::Tensor qkv = context->get_saved_variables()[0];
    const auto layout = HeldLayout(context->saved_data["layout"]);
    const at::Tensor dout = gradients[0].contiguous();
    const int64_t width = qkv.size(2) * qkv.size(3);
    at::Tensor dqkv = at::empty_like(qkv);
    dqkv.slice(0, layout->total_tokens()).zero_();
    const std::unique_ptr<float[]> scratch = Scratch(*layout, qkv.size(3));
    WithKernels(qkv.scalar_type(), [&]<class E>(const cpu::TrainingKernels<E>& kernels, E) {
      for (int image = 0; image < layout->images(); ++image) {
        E* const first = MutableElements<E>(dqkv) + layout->offset(image) * 3 * width;
        kernels.attention_gradient({.forward = CallFor<E>(qkv, *layout, image, scratch.get()),
                                    .dout = Elements<E>(dout) + layout->offset(image) * width,
                                    .dq = first,
                                    .dk = first + width,
                                    .dv = first + 2 * width,
                                    .gradient_stride = 3 * width});
      }
    });
    return {dqkv, at::Tensor()};
  }

 private:
  static std::unique_ptr<float[]> Scratch(const TokenLayout& layout, int64_t width) {
    int64_t most = 0;
    for (const TokenLayout::Run& run : layout.runs()) most = std::max(most, run.tokens_per_image);
    return std::make_unique_for_overwrite<float[]>(cpu::AttentionScratch(most, width));
  }

  template <class E>
  static cpu::AttentionCall<E> CallFor(const at::Tensor& qkv, const TokenLayout& layout, int image, float* scratch) {
    const int64_t heads = qkv.size(2), width = qkv.size(3);
    const E* const first = Elements<E>(qkv) + layout.offset(image) * 3 * heads * width;
    return {.q = first,
            .k = first + heads * width,
            .v = first + 2 * heads * width,
            .stride = 3 * heads * width,
            .tokens = layout.tokens(image),
            .heads = heads,
            .width = width,
            .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(width))),
            .out = nullptr,
            .out_stride = heads * width,
            .scratch = scratch};
  }
};

// Maximum tokens per image for our own loop. With more tokens, the weights of a head do not fit in the cache, and the
// library, which computes in blocks, is faster.
constexpr int64_t kMostOwnTokens = 400;

bool AttendsItself(const at::Tensor& qkv, const TokenLayout& layout, const ForwardContext& context) {
  if (!UsesOwnGradients(qkv, context) || context.tap != nullptr || DropsWeights(context)) return false;
  return std::all_of(layout.runs().begin(), layout.runs().end(),
                     [](const TokenLayout::Run& run) { return run.tokens_per_image <= kMostOwnTokens; });
}

}  // namespace

at::Tensor AttendWithinImages(const at::Tensor& qkv, const std::shared_ptr<const TokenLayout>& layout, int layer,
                              int site, const ForwardContext& context) {
  if (AttendsItself(qkv, *layout, context)) return AttentionFunction::apply(qkv, layout);
  const int64_t width = qkv.size(2) * qkv.size(3);
  const double scale = 1 / std::sqrt(static_cast<double>(qkv.size(3)));
  std::vector<at::Tensor> outputs;
  for (const TokenLayout::Run& run : layout->runs()) {
    const at::Tensor q = HeadsOfRun(qkv.select(1, 0), run);  // [B, h, n, d_h]
    const at::Tensor k = HeadsOfRun(qkv.select(1, 1), run);
    const at::Tensor v = HeadsOfRun(qkv.select(1, 2), run);
    Capture(context.tap, AttentionSource::kTokens, layer, run.first_image, run.images, [&](int i) {
      const at::Tensor scores = (q[i] * scale).matmul(k[i].transpose(-2, -1));  // [h, n, n]
      return Explicit(scores, scores.softmax(-1));
    });
    const at::Tensor mixed = AttendRun(q, k, v, scale, run, site, context);
    outputs.push_back(mixed.transpose(1, 2).reshape({-1, width}));  // [B * n, width]
  }
  return JoinRuns(std::move(outputs), qkv.size(0));
}

at::Tensor AttendRun(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double scale,
                     const TokenLayout::Run& run, int site, const ForwardContext& context) {
  if (!DropsWeights(context)) {
    return at::scaled_dot_product_attention(q, k, v, std::nullopt, 0.0, /*is_causal=*/false, scale);
  }
  const at::Tensor weights = at::matmul(q * scale, k.transpose(-2, -1)).softmax(-1);
  return at::matmul(Dropout(weights, *context.dropout.attention, site, context, run.first_image), v);
}

at::Tensor HeadsOfRun(const at::Tensor& x, const TokenLayout::Run& run) {
  return x.narrow(0, run.first_token, run.images * run.tokens_per_image)
      .view({run.images, run.tokens_per_image, x.size(1), x.size(2)})
      .transpose(1, 2);
}

}  // namespace vitrine
