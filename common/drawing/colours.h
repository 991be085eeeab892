// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_COLOURS_H_
#define VITRINE_COMMON_DRAWING_COLOURS_H_

#include <array>
#include <cstdint>
#include <span>

#include "common/drawing/canvas.h"
#include "common/drawing/colour_range.h"

namespace vitrine {

// The colours of a range in equal steps, from low to high.
class ColourScale {
 public:
  explicit ColourScale(const ColourRange& range);

  // Writes for each value the index of its colour in colours(). A value outside the range gets the colour of the nearer
  // end. If the range is empty, every value gets the colour in the middle.
  void FindSteps(std::span<const float> values, uint8_t* steps) const;

  // Returns the colours. A diverging range uses only the first 255: an odd number of colours has a middle colour, which
  // the value 0 gets.
  const std::array<Colour, 256>& colours() const { return colours_; }

 private:
  const std::array<Colour, 256>& colours_;
  float last_, factor_, zero_;  // index of a value: value * factor_ + zero_, rounded and clamped to [0, last_]
};

// Draws the range as a strip, from low to high: left to right or, if `upright`, bottom to top.
void DrawColourBar(const Canvas& canvas, const Rect& bar, const ColourRange& range, bool upright);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_COLOURS_H_
