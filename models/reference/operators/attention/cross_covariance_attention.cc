// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/attention/cross_covariance_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <memory>

#include "models/reference/operators/attention/attention.h"
#include "models/reference/operators/attention/capture.h"
#include "models/reference/operators/channel_products.h"
#include "models/reference/operators/cpu_kernels.h"
#include "models/reference/operators/dropout.h"
#include "models/reference/operators/held_layout.h"

namespace vitrine {
namespace {

// Lower limit of a channel's length when dividing by it.
constexpr double kLeastNorm = 1e-12;

class ChannelAttentionFunction : public torch::autograd::Function<ChannelAttentionFunction> {
 public:
  // Computes the attention's output [T, width], in the type of q. q, k and v are [T, width] of one type, with any row
  // stride; the temperature is [heads, 1, 1].
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const at::Tensor& temperature,
                            const std::shared_ptr<const TokenLayout>& layout) {
    context->save_for_backward({q, k, v, temperature});
    context->saved_data["layout"] = HoldLayout(layout);
    const int64_t width = q.size(1);
    at::Tensor out = at::empty(q.sizes(), q.options());
    out.slice(0, layout->total_tokens()).zero_();
    const std::unique_ptr<float[]> scratch = Scratch(*layout, width / temperature.numel());
    WithKernels(q.scalar_type(), [&]<class E>(const cpu::TrainingKernels<E>& kernels, E) {
      for (int image = 0; image < layout->images(); ++image) {
        cpu::ChannelAttentionCall<E> call = CallFor<E>({q, k, v, temperature}, *layout, image, scratch.get());
        call.out = MutableElements<E>(out) + layout->offset(image) * width;
        kernels.channel_attention(call);
      }
    });
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const auto layout = HeldLayout(context->saved_data["layout"]);
    const at::Tensor dout = gradients[0].contiguous();
    const int64_t width = dout.size(1), padding = layout->total_tokens();
    at::Tensor dq = at::empty_like(dout), dk = at::empty_like(dout), dv = at::empty_like(dout);
    for (at::Tensor* each : {&dq, &dk, &dv}) each->slice(0, padding).zero_();
    at::Tensor dtemperature = at::zeros(saved[3].sizes(), saved[3].options());
    const std::unique_ptr<float[]> scratch = Scratch(*layout, width / saved[3].numel());
    WithKernels(dout.scalar_type(), [&]<class E>(const cpu::TrainingKernels<E>& kernels, E) {
      for (int image = 0; image < layout->images(); ++image) {
        const int64_t first = layout->offset(image) * width;
        kernels.channel_attention_gradient({.forward = CallFor<E>(saved, *layout, image, scratch.get()),
                                            .dout = Elements<E>(dout) + first,
                                            .dq = MutableElements<E>(dq) + first,
                                            .dk = MutableElements<E>(dk) + first,
                                            .dv = MutableElements<E>(dv) + first,
                                            .dtemperature = MutableElements<float>(dtemperature)});
      }
    });
    return {dq, dk, dv, dtemperature, at::Tensor()};
  }

 private:
  static std::unique_ptr<float[]> Scratch(const TokenLayout& layout, int64_t width) {
    int64_t most = 0;
    for (const TokenLayout::Run& run : layout.runs()) most = std::max(most, run.tokens_per_image);
    return std::make_unique_for_overwrite<float[]>(cpu::ChannelAttentionScratch(most, width));
  }

  // Returns the kernel's arguments for one image. `inputs` are q, k, v and the temperature.
  template <class E>
  static cpu::ChannelAttentionCall<E> CallFor(const torch::autograd::variable_list& inputs, const TokenLayout& layout,
                                              int image, float* scratch) {
    const auto first = [&](int i) { return Elements<E>(inputs[i]) + layout.offset(image) * inputs[i].stride(0); };
    const int64_t heads = inputs[3].numel();
    return {.q = first(0),
            .k = first(1),
            .v = first(2),
            .q_stride = inputs[0].stride(0),
            .k_stride = inputs[1].stride(0),
            .v_stride = inputs[2].stride(0),
            .tokens = layout.tokens(image),
            .heads = heads,
            .width = inputs[0].size(1) / heads,
            .temperature = Elements<float>(inputs[3]),
            .least_norm = static_cast<float>(kLeastNorm),
            .out = nullptr,
            .scratch = scratch};
  }
};

}  // namespace

at::Tensor AttendChannels(const Qkv& qkv, const at::Tensor& temperature,
                          const std::shared_ptr<const TokenLayout>& layout, int layer, int site,
                          const ForwardContext& context) {
  if (UsesOwnGradients(qkv.q, context) && context.tap == nullptr && !DropsWeights(context)) {
    return ChannelAttentionFunction::apply(qkv.q, qkv.k, qkv.v, temperature, layout);
  }
  const int64_t count = temperature.numel();
  const auto heads = [&](const at::Tensor& part) { return part.view({-1, count, part.size(1) / count}); };
  const at::Tensor q = heads(qkv.q), k = heads(qkv.k), v = heads(qkv.v);  // [T, h, d_h]
  // Divides the products [d_h, d_h] of q and k by the norms, and not q and k themselves, which usually have more
  // elements.
  const at::Tensor q_norms = ChannelNorms(q, *layout, context).clamp_min(kLeastNorm);  // [images, h, d_h]
  const at::Tensor k_norms = ChannelNorms(k, *layout, context).clamp_min(kLeastNorm);
  const at::Tensor products = ChannelProducts(q, k, *layout, context);  // [images, h, d_h, d_h]
  const at::Tensor scores = products / q_norms.unsqueeze(3) / k_norms.unsqueeze(2) * temperature;
  const at::Tensor weights = scores.softmax(-1);
  Capture(context.tap, AttentionSource::kChannels, layer, 0, layout->images(),
          [&](int image) { return Explicit(scores[image], weights[image]); });
  const at::Tensor kept = Dropout(weights, context.dropout.attention.value_or(0), site, context);
  return MixChannels(v, kept.transpose(2, 3), *layout, context);  // [T, width]
}

}  // namespace vitrine
