// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/canvas.h"

#include <algorithm>

namespace vitrine {

Rect Intersection(const Rect& a, const Rect& b) {
  const int x = std::max(a.x, b.x), y = std::max(a.y, b.y);
  const Rect inside = {x, y, std::min(a.right(), b.right()) - x, std::min(a.bottom(), b.bottom()) - y};
  return inside.empty() ? Rect() : inside;
}

Canvas::Canvas(Image& image) : Canvas(image.pixels.data(), image.width, image.height, ptrdiff_t{3} * image.width) {}

Canvas Canvas::Part(const Rect& part) const {
  const Rect inside = Intersection(part, area());
  return {Row(inside.y) + 3 * inside.x, inside.width, inside.height, stride_};
}

void Canvas::Fill(const Rect& rect, const Colour& colour) const {
  const Canvas part = Part(rect);
  for (int y = 0; y < part.height(); ++y) {
    uint8_t* pixel = part.Row(y);
    for (int x = 0; x < part.width(); ++x) pixel = std::copy(colour.begin(), colour.end(), pixel);
  }
}

void Canvas::Frame(const Rect& rect, const Colour& colour) const {
  if (rect.empty()) return;
  Fill({rect.x, rect.y, rect.width, 1}, colour);
  Fill({rect.x, rect.bottom() - 1, rect.width, 1}, colour);
  Fill({rect.x, rect.y, 1, rect.height}, colour);
  Fill({rect.right() - 1, rect.y, 1, rect.height}, colour);
}

void Canvas::Put(const Image& image, Point corner) const {
  const Rect place = {corner.x, corner.y, image.width, image.height};
  const Rect inside = Intersection(place, area());
  const Canvas part = Part(inside);
  for (int y = 0; y < part.height(); ++y) {
    const ptrdiff_t first = ptrdiff_t{inside.y - place.y + y} * image.width + inside.x - place.x;
    std::copy_n(image.pixels.data() + 3 * first, 3 * part.width(), part.Row(y));
  }
}

}  // namespace vitrine
