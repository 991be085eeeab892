// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/convolution/strided_convolution.h"

#include <ATen/ops/cat.h>

#include "models/reference/operators/library_bf16.h"

namespace vitrine {

ImageBatch ConvolveImages(const ImageBatch& images, const at::Tensor& weight, const at::Tensor& bias, int stride,
                          int padding, const ForwardContext& context) {
  const auto type = context.bf16 ? at::kBFloat16 : at::kFloat;
  const at::Tensor kernel = weight.to(type).permute({0, 3, 1, 2}).contiguous();
  const at::Tensor shift = bias.to(type);
  ImageBatch outputs;
  outputs.reserve(images.size());
  for (const at::Tensor& image : images) {
    outputs.push_back(LibraryConvolution(image.to(type), kernel, shift, stride, padding).to(at::kFloat));
  }
  return outputs;
}

at::Tensor PixelsAsTokens(const ImageBatch& images) {
  std::vector<at::Tensor> tokens;
  for (const at::Tensor& image : images) tokens.push_back(image.flatten(1).t());
  return at::cat(tokens);
}

}  // namespace vitrine
