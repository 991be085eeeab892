// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cpu/group.h"

#include <cstddef>
#include <cstdint>

namespace vitrine::engine {

std::span<const ImagePlanes> FirstGroup(std::span<const ImagePlanes> images, int cell) {
  int64_t cells = 0;
  for (size_t i = 0; i < images.size(); ++i) {
    if (cell > 0) cells += int64_t{images[i].height / cell} * (images[i].width / cell);
    if (i > 0 && cells > kGroupCells) return images.first(i);
  }
  return images;
}

}  // namespace vitrine::engine
