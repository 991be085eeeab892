// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/convolution/depthwise_convolution.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "models/reference/operators/cpu_kernels.h"
#include "models/reference/operators/elementwise.h"
#include "models/reference/operators/held_layout.h"
#include "models/reference/operators/sum_by_chunks.h"
#include "models/reference/operators/token_sequence.h"

namespace vitrine {
namespace {

// Computes the convolution with our own kernel. If `scale` and `shift` are defined, then applies GELU, the scale and
// the shift.
at::Tensor RunKernel(const PackedTokens& x, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& scale,
                     const at::Tensor& shift) {
  const int64_t channels = weight.size(0);
  const at::Tensor neighbours = weight.view({channels, 9}).t().contiguous();  // [9, channels]
  const at::Tensor zeros = at::zeros({channels}, bias.options());
  at::Tensor y = at::empty({x.data.size(0), channels}, x.data.options());
  y.slice(0, x.layout->total_tokens()).zero_();
  float* first = y.data_ptr<float>();
  at::parallel_for(0, x.layout->images(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int image = static_cast<int>(i);
      CpuKernels().depthwise({.x = x.data.const_data_ptr<float>() + x.layout->offset(image) * x.data.stride(0),
                              .x_stride = x.data.stride(0),
                              .rows = x.layout->grid(image).rows,
                              .columns = x.layout->grid(image).columns,
                              .channels = channels,
                              .weights = neighbours.const_data_ptr<float>(),
                              .bias = bias.const_data_ptr<float>(),
                              .zeros = zeros.const_data_ptr<float>(),
                              .scale = scale.defined() ? scale.const_data_ptr<float>() : nullptr,
                              .shift = shift.defined() ? shift.const_data_ptr<float>() : nullptr,
                              .y = first + x.layout->offset(image) * channels,
                              .y_stride = channels});
    }
  });
  return y;
}

class DepthwiseFunction : public torch::autograd::Function<DepthwiseFunction> {
 public:
  // Convolves x [T, channels] with weight [channels, 1, 3, 3] and bias [channels], all fp32.
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, const std::shared_ptr<const TokenLayout>& layout) {
    const at::Tensor rows = x.contiguous();
    context->save_for_backward({rows, weight});
    context->saved_data["layout"] = HoldLayout(layout);
    return RunKernel({rows, layout}, weight, bias, {}, {});
  }

  // Computes the gradients. The gradient of x is the convolution of dy with the kernel rotated by 180 degrees.
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& weight = saved[1];
    const auto layout = HeldLayout(context->saved_data["layout"]);
    const at::Tensor dy = gradients[0].contiguous();
    const int64_t channels = weight.size(0);
    at::Tensor dweights = at::zeros({9, channels}, at::kFloat), dbias = at::zeros({channels}, at::kFloat);
    const at::Tensor none = at::zeros({channels}, at::kFloat);
    const at::Tensor dx = RunKernel({dy, layout}, weight.flip({2, 3}), none, {}, {});
    int64_t most = 0;
    for (const TokenLayout::Run& run : layout->runs()) most = std::max(most, run.tokens_per_image);
    std::vector<const float*> taps(9 * most);
    SumByChunks<2>(layout->images(), 1, {dweights, dbias}, [&](int64_t first, int64_t /*count*/, const auto& sums) {
      const int image = static_cast<int>(first);
      CpuKernels().training.depthwise_gradient({.x = Elements<float>(x) + layout->offset(image) * channels,
                                                .dy = Elements<float>(dy) + layout->offset(image) * channels,
                                                .rows = layout->grid(image).rows,
                                                .columns = layout->grid(image).columns,
                                                .channels = channels,
                                                .zeros = Elements<float>(none),
                                                .taps = taps.data(),
                                                .dweights = MutableElements<float>(sums[0]),
                                                .dbias = MutableElements<float>(sums[1])});
    });
    return {dx, dweights.t().reshape(weight.sizes()), dbias, at::Tensor()};
  }
};

}  // namespace

namespace {

// Computes the convolution with LibTorch, on any device. The tokens of a grid, row by row, are an image's pixels in
// channels-last order.
at::Tensor ConvolveRuns(const PackedTokens& x, const at::Tensor& weight, const at::Tensor& bias) {
  const int64_t channels = x.data.size(1);
  std::vector<at::Tensor> outputs;
  for (const TokenLayout::Run& run : x.layout->runs()) {
    const at::Tensor map = x.data.narrow(0, run.first_token, run.images * run.tokens_per_image)
                               .view({run.images, run.grid.rows, run.grid.columns, channels})
                               .permute({0, 3, 1, 2});
    const at::Tensor convolved = at::conv2d(map, weight, bias, /*stride=*/1, /*padding=*/1, /*dilation=*/1,
                                            /*groups=*/channels);
    outputs.push_back(convolved.permute({0, 2, 3, 1}).reshape({-1, channels}));
  }
  return JoinRuns(std::move(outputs), x.data.size(0));
}

}  // namespace

at::Tensor ConvolveDepthwise(const PackedTokens& x, const at::Tensor& weight, const at::Tensor& bias,
                             const ForwardContext& context) {
  if (RunsWithoutGradient(x.data, context)) return RunKernel(x, weight, bias, {}, {});
  if (RunsOnKernels(x.data, context)) return DepthwiseFunction::apply(x.data, weight, bias, x.layout);
  return ConvolveRuns(x, weight, bias);
}

at::Tensor ConvolveDepthwiseGelu(const PackedTokens& x, const at::Tensor& weight, const at::Tensor& bias,
                                 const at::Tensor& scale, const at::Tensor& shift, const ForwardContext& context) {
  if (RunsWithoutGradient(x.data, context)) return RunKernel(x, weight, bias, scale, shift);
  if (RunsOnKernels(x.data, context)) {
    return at::addcmul(shift, Gelu(ConvolveDepthwise(x, weight, bias, context), context), scale);
  }
  return at::addcmul(shift, at::gelu(ConvolveRuns(x, weight, bias)), scale);
}

}  // namespace vitrine
