// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_CONVOLUTION_PATCHES_H_
#define VITRINE_MODELS_LAYERS_CONVOLUTION_PATCHES_H_

#include "models/layers/initializer.h"
#include "models/model.h"

namespace vitrine {

// As ConvolutionPatches' Forward, with weight [width, 3, 3, channels] and bias [width].
at::Tensor ConvolveAndPool(const ImageBatch& images, const at::Tensor& weight, const at::Tensor& bias, int pool,
                           const ForwardContext& context);

// EIT^P: 3x3 convolution with bias to `width` channels, then max pooling with kernel = stride = pool, without padding.
class ConvolutionPatches : public Module {
 public:
  ConvolutionPatches(int channels, int pool, int width, Initializer& initializer);

  // Images [channels, H, W] -> [cells of all images, width], images in order, cells row by row. Rows and columns that
  // do not fill a cell are seen by the convolution and left out of the pool. Not differentiable in the images.
  at::Tensor Forward(const ImageBatch& images, const ForwardContext& context) const;

 private:
  const int pool_;
  at::Tensor weight_;  // [width, 3, 3, channels]
  at::Tensor bias_;    // [width]
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_CONVOLUTION_PATCHES_H_
