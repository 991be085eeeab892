// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_GEOMETRY_H_
#define VITRINE_IMAGING_GEOMETRY_H_

#include <optional>

#include "absl/status/statusor.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

struct Size {
  int height = 0;
  int width = 0;
  friend bool operator==(const Size&, const Size&) = default;
};

// How a picture becomes a model's input: resize to `scaled`, then cut `input` out of it at (top, left).
struct Geometry {
  Size original;  // as a person sees it
  Size scaled;
  int top = 0;
  int left = 0;
  Size input;

  // A point of the input in pixels of the oriented original.
  float OriginalX(float input_x) const { return (input_x + left) * original.width / scaled.width; }
  float OriginalY(float input_y) const { return (input_y + top) * original.height / scaled.height; }
};

// The one resolution policy, for training and serving.
//   fixed:  stretch, or scale to cover and crop centrally; sizes and corner to the pixel as timm's evaluation
//   transform. native: both sides a multiple of the cell, the grid's cells within min_tokens..max_tokens, and among
//   such grids the
//           one nearest to the picture in aspect and then in tokens: the picture's own number of cells, clamped to the
//           limits, is aimed at, and an error of the aspect weighs four times an error of the tokens (as ratios). A
//           picture that already is such a size is not resized. `wish` replaces the picture's own size and aspect as
//           the starting point; rounded to the nearest cell, its grid must lie within the limits as it is.
// INVALID_ARGUMENT: a wish for a fixed-size model or outside the limits (the sentence names the allowed range);
// a picture so long that no grid within the limits has its aspect to a factor of 2.
absl::StatusOr<Geometry> PlanGeometry(const v1::Preprocessing& preprocessing, Size original,
                                      std::optional<Size> wish = std::nullopt);

// INVALID_ARGUMENT if a field of the preprocessing is missing or out of its range.
absl::Status ValidatePreprocessing(const v1::Preprocessing& preprocessing);

}  // namespace vitrine

#endif  // VITRINE_IMAGING_GEOMETRY_H_
