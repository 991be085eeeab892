// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_GROUP_H_
#define VITRINE_MODELS_ENGINE_CPU_GROUP_H_

#include <cstdint>
#include <span>

#include "models/engine/image_planes.h"

namespace vitrine::engine {

// Maximum number of cells in a group. The images of a group pass through the steps together. With more cells, the
// values of a group would not stay in the L2 cache. With fewer cells, the weights would be read too often. An image
// with more cells is a group by itself.
inline constexpr int64_t kGroupCells = 256;

// Returns the first group of `images`: as many images as fit, at least one. `cell` is the side of a cell in pixels; if
// `cell` is 0, the model has no cells and all images form one group.
std::span<const ImagePlanes> FirstGroup(std::span<const ImagePlanes> images, int cell);

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_GROUP_H_
