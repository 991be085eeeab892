// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_CONVOLUTION_STRIDED_CONVOLUTION_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_CONVOLUTION_STRIDED_CONVOLUTION_H_

#include "models/reference/forward_context.h"
#include "models/reference/images.h"

namespace vitrine {

// Computes a convolution over images, from pixels to tokens, for EIT's baselines: weight [outputs, k, k, inputs] and
// bias [outputs]. Each image [inputs, H, W] becomes [outputs, H', W'] with H' = floor((H + 2 padding - k) / stride) +
// 1.
ImageBatch ConvolveImages(const ImageBatch& images, const at::Tensor& weight, const at::Tensor& bias, int stride,
                          int padding, const ForwardContext& context);

// Returns images [channels, H, W] as tokens: [positions of all images, channels], image by image, row by row.
at::Tensor PixelsAsTokens(const ImageBatch& images);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_CONVOLUTION_STRIDED_CONVOLUTION_H_
