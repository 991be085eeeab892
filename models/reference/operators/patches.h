// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_PATCHES_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_PATCHES_H_

#include <vector>

#include "models/reference/forward_context.h"
#include "models/reference/images.h"
#include "models/token_layout.h"

namespace vitrine {

// Returns the grids of images cut into cells of cell x cell pixels. Leftover pixels at the right and bottom edges are
// unused.
std::vector<Grid> GridsOf(const ImageBatch& images, int cell);

// Returns patches of patch x patch pixels, each as a row ordered by pixel row, pixel column, channel: [cells of all
// images, patch * patch * channels].
at::Tensor PatchRows(const ImageBatch& images, int patch, const ForwardContext& context);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_PATCHES_H_
