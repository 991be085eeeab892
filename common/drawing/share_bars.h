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

// Returns a tile of a sheet: an image, or an overlay of one, in a square of `side` pixels (at least 96), and below it a
// bar for each share on a scale from 0 to 1, with its label and percentage; a share without a label leaves its place
// empty, so that tiles with equal numbers of shares have equal size. `line`, on at most two lines, is between the two.
// INVALID_ARGUMENT: an empty image, a share outside 0 to 1. INTERNAL: OpenCV failed. Thread-safe.
absl::StatusOr<Image> ComposeShareTile(const Image& image, const std::string& line,
                                       std::span<const LabelledShare> shares, int side);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_SHARE_BARS_H_
