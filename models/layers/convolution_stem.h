// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_CONVOLUTION_STEM_H_
#define VITRINE_MODELS_LAYERS_CONVOLUTION_STEM_H_

#include <memory>
#include <vector>

#include "models/forward_context.h"
#include "models/layers/batch_norm.h"
#include "models/model.h"

namespace vitrine {

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
  using Maps = std::vector<at::Tensor>;  // [images, channels, rows, columns] for every run of equal sizes
  Maps ConvolveInTraining(const Maps& maps, size_t step, const ForwardContext& context) const;
  Maps ConvolveInEvaluation(const Maps& maps, size_t step, const ForwardContext& context) const;

  const int patch_;
  std::vector<at::Tensor> weights_;  // of each convolution, [out, in, 3, 3]
  std::vector<std::unique_ptr<BatchNorm>> norms_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_CONVOLUTION_STEM_H_
