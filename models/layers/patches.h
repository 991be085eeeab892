// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_PATCHES_H_
#define VITRINE_MODELS_LAYERS_PATCHES_H_

#include "models/forward_context.h"
#include "models/layers/linear.h"
#include "models/model.h"
#include "models/packed_tokens.h"

namespace vitrine {

// Grids of images cut into cells of cell x cell pixels; what is left at the right and the bottom is unused.
std::vector<Grid> GridsOf(const ImageBatch& images, int cell);

// Every patch of patch x patch pixels as a row in the order row, column, channel: [cells of all images, P * P * C].
at::Tensor PatchRows(const ImageBatch& images, int patch, const ForwardContext& context);

// Linear patches (ViT): every patch of patch x patch pixels, flattened in the order row, column, channel, times a
// matrix.
class LinearPatches : public Module {
 public:
  LinearPatches(int channels, int patch, int width, Initializer& initializer,
                Linear::Init init = Linear::Init::kTruncatedNormal);

  // Images [channels, H, W] -> [cells of all images, width], images in order, cells row by row.
  at::Tensor Forward(const ImageBatch& images, const ForwardContext& context) const;

 private:
  const int patch_;
  Linear proj_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_PATCHES_H_
