// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_STRIDED_CONVOLUTION_H_
#define VITRINE_MODELS_LAYERS_STRIDED_CONVOLUTION_H_

#include "models/forward_context.h"
#include "models/layers/initializer.h"
#include "models/model.h"

namespace vitrine {

// As StridedConvolution's Convolve, with weight [outputs, k, k, inputs] and bias [outputs].
ImageBatch ConvolveImages(const ImageBatch& images, const at::Tensor& weight, const at::Tensor& bias, int stride,
                          int padding, const ForwardContext& context);

// Images [channels, H, W] as tokens: [places of all images, channels], images in order, places row by row.
at::Tensor PlacesOf(const ImageBatch& images);

// A convolution with bias over images, from pixels to the tokens of models that EIT is compared with.
class StridedConvolution : public Module {
 public:
  // Kernel kernel x kernel; initial values are PyTorch's.
  StridedConvolution(int inputs, int outputs, int kernel, int stride, int padding, Initializer& initializer);

  // Each image [inputs, H, W] -> [outputs, H', W'], H' = floor((H + 2 padding - kernel) / stride) + 1.
  ImageBatch Convolve(const ImageBatch& images, const ForwardContext& context) const;
  // The same as tokens: [places of all images, outputs], images in order, places row by row.
  at::Tensor Forward(const ImageBatch& images, const ForwardContext& context) const;

 private:
  const int stride_;
  const int padding_;
  at::Tensor weight_;  // [outputs, kernel, kernel, inputs]
  at::Tensor bias_;    // [outputs]
};

// The stem of ViT_C (Xiao et al. 2021) in the form that EIT's parameter count fixes: convolutions 4x4 with stride 2 and
// padding 1, again, and 1x1, all with bias, ReLU between them, no BatchNorm. A token per 4x4 pixels.
class VitCStem : public Module {
 public:
  VitCStem(int channels, int width, Initializer& initializer);

  // Images [channels, H, W] -> [cells of all images, width].
  at::Tensor Forward(const ImageBatch& images, const ForwardContext& context) const;

 private:
  StridedConvolution conv1_;
  StridedConvolution conv2_;
  StridedConvolution conv3_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_STRIDED_CONVOLUTION_H_
