// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_SHARE_BARS_H_
#define VITRINE_REPORT_SHARE_BARS_H_

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "imaging/image.h"

namespace vitrine {

// A class and its probability.
struct LabelledShare {
  std::string label;
  double share = 0;  // 0 to 1
};

// A tile of a sheet: a picture, or an overlay of one, brought into a square of `side` pixels (96 at least), and below
// it a bar for each share on a scale from 0 to 1, with its label and percentage; one without a label leaves its place
// free, so that tiles of as many shares are equally large. `line`, in at most two lines, stands between the two.
// INVALID_ARGUMENT: an empty picture, a share outside 0 to 1. INTERNAL: OpenCV failed. Thread-safe.
absl::StatusOr<Image> ComposeShareTile(const Image& picture, const std::string& line,
                                       std::span<const LabelledShare> shares, int side);

}  // namespace vitrine

#endif  // VITRINE_REPORT_SHARE_BARS_H_
