// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_IMAGES_H_
#define VITRINE_MODELS_REFERENCE_IMAGES_H_

#include <ATen/core/Tensor.h>

#include <vector>

namespace vitrine {

// Images of a batch, normalised, each [channels, height, width] fp32 on the model's device. The model's GridFor must
// accept the size of each image. Sort the images by size if possible: adjacent images of equal size share batched
// calls.
using ImageBatch = std::vector<at::Tensor>;

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_IMAGES_H_
