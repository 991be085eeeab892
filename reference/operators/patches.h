// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_OPERATORS_PATCHES_H_
#define VITRINE_REFERENCE_OPERATORS_PATCHES_H_

#include <vector>

#include "models/token_layout.h"
#include "reference/forward_context.h"
#include "reference/images.h"

namespace vitrine {

// Returns the grids of images cut into cells of cell x cell pixels; pixels left at the right and the bottom are unused.
std::vector<Grid> GridsOf(const ImageBatch& images, int cell);

// Returns patches of patch x patch pixels, each a row in the order row, column, channel: [cells of all images, P * P *
// C].
at::Tensor PatchRows(const ImageBatch& images, int patch, const ForwardContext& context);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_OPERATORS_PATCHES_H_
