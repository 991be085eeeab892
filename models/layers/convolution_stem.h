// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_CONVOLUTION_STEM_H_
#define VITRINE_MODELS_LAYERS_CONVOLUTION_STEM_H_

#include <memory>
#include <vector>

#include "models/forward_context.h"
#include "models/layers/batch_norm.h"
#include "models/model.h"

namespace vitrine {

// Neighbours of equal grid, cut to whole cells, as one map [images, channels, rows, columns] each.
using Maps = std::vector<at::Tensor>;
Maps RunsOf(const ImageBatch& images, int cell);
// A convolution 3x3 of stride 2 without bias and its BatchNorm; with GELU behind it where `gelu` says so.
Maps ConvolveAndNormalize(const Maps& maps, const at::Tensor& weight, const BatchNormTensors& norm, bool gelu,
                          const ForwardContext& context);
// The pixels of all maps as rows: [cells of all images, channels].
at::Tensor PixelsOfAll(const Maps& maps);

// XCiT's patch projection: 3x3 convolutions of stride 2 without bias, each followed by BatchNorm, GELU between them.
// Every one halves the sides; the widths double up to `width`: four of them for patches of 16 pixels, three for 8.
class ConvolutionStem : public Module {
 public:
  // Requires that `patch` is 8 or 16 and that width / (patch / 2) is a whole number.
  ConvolutionStem(int channels, int patch, int width, Initializer& initializer);

  // Images [channels, H, W] -> [cells of all images, width], images in order, cells row by row. Pixels at the right and
  // the bottom that do not fill a cell are cut off first. Differentiable in the parameters.
  at::Tensor Forward(const ImageBatch& images, const ForwardContext& context) const;

 private:
  const int patch_;
  std::vector<at::Tensor> weights_;  // of each convolution, [out, in, 3, 3]
  std::vector<std::unique_ptr<BatchNorm>> norms_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_CONVOLUTION_STEM_H_
