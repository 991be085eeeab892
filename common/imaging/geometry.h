// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_GEOMETRY_H_
#define VITRINE_COMMON_IMAGING_GEOMETRY_H_

#include <optional>

#include "absl/status/statusor.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

struct Size {
  int height = 0;
  int width = 0;
  friend bool operator==(const Size&, const Size&) = default;
};

// Conversion of an image to a model's input: the image is resized to `scaled`, then `input` is cropped at (top, left).
struct Geometry {
  Size original;  // size in upright orientation
  Size scaled;
  int top = 0;
  int left = 0;
  Size input;

  // Converts a coordinate of the input to pixels of the original in upright orientation.
  float OriginalX(float input_x) const { return (input_x + left) * original.width / scaled.width; }
  float OriginalY(float input_y) const { return (input_y + top) * original.height / scaled.height; }
};

// Plans the geometry, by the same rules in training and serving:
// - fixed: the image is stretched, or scaled to cover the input and cropped centrally. Sizes and offset equal timm's
//   evaluation transform exactly.
// - native: both sides are multiples of the cell, and the number of cells is within min_tokens..max_tokens. The grid
//   that is nearest to the image's aspect ratio and number of cells (clamped to the limits) is taken. Errors are
//   measured as ratios; an error in aspect ratio weighs four times an error in the number of cells. An image whose size
//   already meets these rules is not resized. `requested` replaces the image's size; it is rounded to whole cells and
//   must give a grid within the limits.
// INVALID_ARGUMENT: `requested` for a fixed-size model or outside the limits (the message names the allowed range); an
// image whose aspect ratio differs from the aspect ratio of every allowed grid by more than a factor of 2.
absl::StatusOr<Geometry> PlanGeometry(const v1::Preprocessing& preprocessing, Size original,
                                      std::optional<Size> requested = std::nullopt);

// Returns INVALID_ARGUMENT if a field of the preprocessing is missing or out of its range.
absl::Status ValidatePreprocessing(const v1::Preprocessing& preprocessing);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_GEOMETRY_H_
