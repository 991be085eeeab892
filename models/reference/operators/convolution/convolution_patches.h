// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_CONVOLUTION_CONVOLUTION_PATCHES_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_CONVOLUTION_CONVOLUTION_PATCHES_H_

#include "models/reference/forward_context.h"
#include "models/reference/images.h"

namespace vitrine {

// Converts images [channels, H, W] to [cells of all images, width] as EIT^P does: a 3x3 convolution, weight [width, 3,
// 3, channels] and bias [width], then max pooling with kernel = stride = pool, without padding. The order of the cells
// is image by image, and row by row within an image. The convolution reads all pixels; the pool drops rows and columns
// that do not fill a cell. Gradients with respect to the images are not computed.
at::Tensor ConvolveAndPool(const ImageBatch& images, const at::Tensor& weight, const at::Tensor& bias, int pool,
                           const ForwardContext& context);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_CONVOLUTION_CONVOLUTION_PATCHES_H_
