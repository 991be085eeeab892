// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_LETTERING_H_
#define VITRINE_COMMON_DRAWING_LETTERING_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/drawing/canvas.h"

namespace vitrine {

// Text is UTF-8 and is drawn in DejaVu Sans. A character that the font lacks is drawn as a box, and an invalid byte as
// U+FFFD. All functions are thread-safe.

// Style of text in a figure.
struct Lettering {
  int height = 12;  // height of capital letters, in pixels
  Colour colour = {60, 60, 60};
  enum class Anchor { kLeft, kCentre, kRight } anchor = Anchor::kLeft;
  bool upwards = false;  // true: reads from bottom to top, so that the right end is on top
};

// Returns the width in pixels of `text` as Write draws it. In this file, `height` always means Lettering::height.
int TextWidth(std::string_view text, int height);

// Returns the longest beginning of `text`, in whole characters, that is at most `width` pixels wide.
std::string_view FrontWithin(std::string_view text, int height, int width);

// Splits text into lines of at most `width` pixels, at spaces and line breaks; a word that is wider is split. Returns
// no line for empty text, and at most 64 lines: the rest of the text is left out.
std::vector<std::string> WrapText(const std::string& text, int height, int width);

// Writes `text`. Depending on the anchor, `at` is the left end, the centre or the right end of the text, always at half
// the height of its capital letters. Text outside the canvas, or after the first 1000 characters, is not drawn.
void Write(const Canvas& canvas, std::string_view text, Point at, const Lettering& lettering);

// Formats a number with three significant digits: "0", "0.125", "-12.5", "3e-05".
std::string ShortNumber(double value);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_LETTERING_H_
