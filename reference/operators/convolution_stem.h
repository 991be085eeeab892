// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_OPERATORS_CONVOLUTION_STEM_H_
#define VITRINE_REFERENCE_OPERATORS_CONVOLUTION_STEM_H_

#include <vector>

#include "reference/images.h"
#include "reference/operators/batch_norm.h"

namespace vitrine {

// Neighbours of equal grid, cut to whole cells, as one map [images, channels, rows, columns] each. Pixels at the right
// and the bottom that do not fill a cell are cut off.
using Maps = std::vector<at::Tensor>;
Maps RunsOf(const ImageBatch& images, int cell);

// A convolution 3x3 of stride 2 without bias, weight [out, in, 3, 3], and its BatchNorm over the pixels of all maps;
// with GELU behind it where `gelu` says so. A step of XCiT's patch projection.
Maps ConvolveAndNormalize(const Maps& maps, const at::Tensor& weight, const BatchNormTensors& norm, bool gelu,
                          const ForwardContext& context);

// The pixels of all maps as rows: [cells of all images, channels].
at::Tensor PixelsOfAll(const Maps& maps);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_OPERATORS_CONVOLUTION_STEM_H_
