// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cpu/group.h"

#include <cstddef>
#include <cstdint>

namespace vitrine::engine {

std::span<const Picture> FirstGroup(std::span<const Picture> pictures, int cell) {
  int64_t cells = 0;
  for (size_t i = 0; i < pictures.size(); ++i) {
    if (cell > 0) cells += int64_t{pictures[i].height / cell} * (pictures[i].width / cell);
    if (i > 0 && cells > kGroupCells) return pictures.first(i);
  }
  return pictures;
}

}  // namespace vitrine::engine
