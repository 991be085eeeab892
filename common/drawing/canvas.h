// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_CANVAS_H_
#define VITRINE_COMMON_DRAWING_CANVAS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/imaging/image.h"

namespace vitrine {

using Colour = std::array<uint8_t, 3>;  // RGB

// A position in pixels; y grows downwards.
struct Point {
  int x = 0;
  int y = 0;
};

// A rectangle of pixels: columns [x, right()) and rows [y, bottom()).
struct Rect {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;

  int right() const { return x + width; }
  int bottom() const { return y + height; }
  bool empty() const { return width <= 0 || height <= 0; }
  // Returns this rectangle with `pixels` more on each side, or fewer if `pixels` is negative.
  Rect Grown(int pixels) const { return {x - pixels, y - pixels, width + 2 * pixels, height + 2 * pixels}; }
};

// Returns the common part of two rectangles; a Rect of zeros if they do not overlap.
Rect Intersection(const Rect& a, const Rect& b);

// A view of an RGB image or of a part of it, on which functions draw. A copy of a Canvas is a view of the same pixels.
// The image must outlive its views. Drawing outside the canvas has no effect.
class Canvas {
 public:
  // Requires three channels.
  explicit Canvas(Image& image);

  int width() const { return width_; }
  int height() const { return height_; }
  Rect area() const { return {0, 0, width_, height_}; }
  uint8_t* Row(int y) const { return pixels_ + y * stride_; }

  // Returns a view of `part`, cut to this canvas. Position (0, 0) of the view is its upper left corner.
  Canvas Part(const Rect& part) const;

  void Fill(const Rect& rect, const Colour& colour) const;
  // Draws the outermost pixels of `rect`.
  void Frame(const Rect& rect, const Colour& colour) const;
  // Copies an RGB image onto the canvas; the image's upper left corner goes to `corner`.
  void Put(const Image& image, Point corner) const;

 private:
  Canvas(uint8_t* pixels, int width, int height, ptrdiff_t stride)
      : pixels_(pixels), width_(width), height_(height), stride_(stride) {}

  uint8_t* pixels_;
  int width_, height_;
  ptrdiff_t stride_;  // bytes from a row to the next
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_CANVAS_H_
