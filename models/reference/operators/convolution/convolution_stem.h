// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_CONVOLUTION_CONVOLUTION_STEM_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_CONVOLUTION_CONVOLUTION_STEM_H_

#include <vector>

#include "models/reference/images.h"
#include "models/reference/operators/batch_norm.h"

namespace vitrine {

// Maps [images, channels, rows, columns], one per run of images with equal grids.
using Maps = std::vector<at::Tensor>;
// Stacks the images of each run into one map. Cuts off pixels at the right and bottom edges that do not fill a cell.
Maps RunsOf(const ImageBatch& images, int cell);

// Computes one step of XCiT's patch projection: 3x3 convolution of stride 2 without bias, weight [out, in, 3, 3], its
// BatchNorm over the pixels of all maps, and GELU if `gelu`.
Maps ConvolveAndNormalize(const Maps& maps, const at::Tensor& weight, const BatchNormTensors& norm, bool gelu,
                          const ForwardContext& context);

// Returns the pixels of all maps as rows: [cells of all images, channels].
at::Tensor PixelsOfAll(const Maps& maps);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_CONVOLUTION_CONVOLUTION_STEM_H_
