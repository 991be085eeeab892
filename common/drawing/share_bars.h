// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_SHARE_BARS_H_
#define VITRINE_COMMON_DRAWING_SHARE_BARS_H_

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "common/imaging/image.h"

namespace vitrine {

// A class and its probability.
struct LabelledShare {
  std::string label;
  double share = 0;  // 0 to 1
};

// Returns a tile of a sheet. From top to bottom, the tile has `image` in a square of `side` pixels (at least 96),
// `line` on at most two lines, and a bar for each share, with label and percentage. A share without label leaves an
// empty row, so that tiles with equal numbers of shares have equal size. INVALID_ARGUMENT: an empty image, a share
// outside 0 to 1. Thread-safe.
absl::StatusOr<Image> ComposeShareTile(const Image& image, const std::string& line,
                                       std::span<const LabelledShare> shares, int side);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_SHARE_BARS_H_
