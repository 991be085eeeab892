// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_FIGURE_H_
#define VITRINE_COMMON_DRAWING_FIGURE_H_

#include <span>

#include "absl/status/status.h"
#include "common/drawing/canvas.h"
#include "common/imaging/image.h"

namespace vitrine {

// Colours that all drawings use.

inline constexpr Colour kInk = {40, 40, 40};       // titles
inline constexpr Colour kFaintInk = {95, 95, 95};  // ticks and notes
inline constexpr Colour kLine = {150, 150, 150};   // axes

// Returns INVALID_ARGUMENT unless rows and columns are at least 1 and there are rows * columns values, all finite.
absl::Status CheckValues(int rows, int columns, std::span<const float> values);

// Returns an RGB image of `width` x `height` in the background colour.
Image EmptyImage(int width, int height);

// Returns the image as RGB, scaled so that its longer side has `side` pixels. Requires a complete image of at least one
// pixel.
Image ScaledToSide(const Image& image, int side);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_FIGURE_H_
