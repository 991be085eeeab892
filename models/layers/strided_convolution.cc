// SPDX-License-Identifier: Apache-2.0
#include "models/layers/strided_convolution.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/relu.h>

#include <cmath>

namespace vitrine {
namespace {

ImageBatch Rectified(ImageBatch images) {
  for (at::Tensor& image : images) image = at::relu(image);
  return images;
}

}  // namespace

StridedConvolution::StridedConvolution(int inputs, int outputs, int kernel, int stride, int padding,
                                       Initializer& initializer)
    : stride_(stride), padding_(padding) {
  // Kaiming uniform with a = sqrt 5, PyTorch's default: within 1 / sqrt(fan in).
  const double bound = 1 / std::sqrt(static_cast<double>(kernel) * kernel * inputs);
  RegisterParameter("weight", weight_, initializer.Uniform({outputs, kernel, kernel, inputs}, bound));
  RegisterParameter("bias", bias_, initializer.Uniform({outputs}, bound));
}

ImageBatch StridedConvolution::Convolve(const ImageBatch& images, const ForwardContext& context) const {
  return ConvolveImages(images, weight_, bias_, stride_, padding_, context);
}

ImageBatch ConvolveImages(const ImageBatch& images, const at::Tensor& weight, const at::Tensor& bias, int stride,
                          int padding, const ForwardContext& context) {
  const auto type = context.bf16 ? at::kBFloat16 : at::kFloat;
  const at::Tensor kernel = weight.to(type).permute({0, 3, 1, 2}).contiguous();
  const at::Tensor shift = bias.to(type);
  ImageBatch outputs;
  outputs.reserve(images.size());
  for (const at::Tensor& image : images) {
    outputs.push_back(at::conv2d(image.to(type), kernel, shift, stride, padding).to(at::kFloat));
  }
  return outputs;
}

at::Tensor StridedConvolution::Forward(const ImageBatch& images, const ForwardContext& context) const {
  return PlacesOf(Convolve(images, context));
}

at::Tensor PlacesOf(const ImageBatch& images) {
  std::vector<at::Tensor> tokens;
  for (const at::Tensor& image : images) tokens.push_back(image.flatten(1).t());
  return at::cat(tokens);
}

VitCStem::VitCStem(int channels, int width, Initializer& initializer)
    : conv1_(channels, width, /*kernel=*/4, /*stride=*/2, /*padding=*/1, initializer),
      conv2_(width, width, /*kernel=*/4, /*stride=*/2, /*padding=*/1, initializer),
      conv3_(width, width, /*kernel=*/1, /*stride=*/1, /*padding=*/0, initializer) {
  RegisterChild("conv1", conv1_);
  RegisterChild("conv2", conv2_);
  RegisterChild("conv3", conv3_);
}

at::Tensor VitCStem::Forward(const ImageBatch& images, const ForwardContext& context) const {
  const ImageBatch half = Rectified(conv1_.Convolve(images, context));
  return conv3_.Forward(Rectified(conv2_.Convolve(half, context)), context);
}

}  // namespace vitrine
