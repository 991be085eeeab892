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

// Conversion of an image to a model's input: resize to `scaled`, then crop `input` at (top, left).
struct Geometry {
  Size original;  // upright
  Size scaled;
  int top = 0;
  int left = 0;
  Size input;

  // Converts a point of the input to pixels of the oriented original.
  float OriginalX(float input_x) const { return (input_x + left) * original.width / scaled.width; }
  float OriginalY(float input_y) const { return (input_y + top) * original.height / scaled.height; }
};

// Plans the geometry; the same policy in training and serving.
//   fixed:  stretch, or scale to cover and crop centrally; sizes and offset equal timm's evaluation transform to the
//           pixel.
//   native: both sides are a multiple of the cell, the number of cells is within min_tokens..max_tokens, and among such
//           grids the nearest to the image in aspect ratio and then in tokens: the target is the image's own number of
//           cells, clamped to the limits; an error in aspect ratio weighs four times an error in tokens (as ratios). An
//           image that already has such a size is not resized. `wish` replaces the image's size as the starting point;
//           rounded to the nearest cell, its grid must lie within the limits.
// INVALID_ARGUMENT: a wish for a fixed-size model or outside the limits (the message names the allowed range); an image
// so long that no grid within the limits has its aspect ratio to a factor of 2.
absl::StatusOr<Geometry> PlanGeometry(const v1::Preprocessing& preprocessing, Size original,
                                      std::optional<Size> wish = std::nullopt);

// INVALID_ARGUMENT if a field of the preprocessing is missing or out of its range.
absl::Status ValidatePreprocessing(const v1::Preprocessing& preprocessing);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_GEOMETRY_H_
