#include "models/layers/depthwise_convolution.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/conv2d.h>

#include <utility>

#include "models/layers/token_sequence.h"

namespace vitrine {

DepthwiseConvolution::DepthwiseConvolution(int channels, Initializer& initializer) {
  // PyTorch's default: weights and bias within 1 / sqrt(fan in), which is 9.
  RegisterParameter("weight", weight_, initializer.Uniform({channels, 1, 3, 3}, 1 / 3.0));
  RegisterParameter("bias", bias_, initializer.Uniform({channels}, 1 / 3.0));
}

at::Tensor DepthwiseConvolution::Forward(const PackedTokens& x, const ForwardContext& context) const {
  const auto type = context.bf16 ? at::kBFloat16 : at::kFloat;
  const int64_t channels = x.data.size(1);
  std::vector<at::Tensor> outputs;
  for (const TokenLayout::Run& run : x.layout->runs()) {
    // Tokens row by row are pixels with the channels last.
    const at::Tensor map = x.data.narrow(0, run.first_token, run.images * run.tokens_per_image)
                               .view({run.images, run.grid.rows, run.grid.columns, channels})
                               .permute({0, 3, 1, 2});
    const at::Tensor convolved = at::conv2d(map.to(type), weight_.to(type), bias_.to(type), /*stride=*/1,
                                            /*padding=*/1, /*dilation=*/1, /*groups=*/channels);
    outputs.push_back(convolved.to(at::kFloat).permute({0, 2, 3, 1}).reshape({-1, channels}));
  }
  return JoinRuns(std::move(outputs), x.data.size(0));
}

}  // namespace vitrine
