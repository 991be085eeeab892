// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_LETTERING_H_
#define VITRINE_COMMON_DRAWING_LETTERING_H_

#include <opencv2/core.hpp>
#include <string>
#include <vector>

namespace vitrine {

// Style of text in a figure. Text is drawn in OpenCV's Hershey font at four times the size and then reduced.
struct Lettering {
  int height = 12;                   // height of capital letters, in pixels
  cv::Scalar colour = {60, 60, 60};  // RGB
  enum class Anchor { kLeft, kCentre, kRight } anchor = Anchor::kLeft;
  bool upwards = false;  // true: reads from bottom to top; the anchor then applies vertically
};

// Returns the width of `text` in pixels.
int TextWidth(const std::string& text, int height);

// Splits text into lines of at most `width` pixels, at spaces and line breaks; a word that is wider is split. Returns
// no line for empty text.
std::vector<std::string> WrapText(const std::string& text, int height, int width);

// Writes `text` so that `at` is its left end, centre or right end, depending on the anchor, at half the height of its
// capital letters. Text outside the canvas (CV_8UC3, RGB) is cut off. The font has only ASCII; other characters become
// '?'.
void Write(cv::Mat& canvas, const std::string& text, cv::Point at, const Lettering& lettering);

// Formats a number with three significant digits: "0", "0.125", "-12.5", "3e-05".
std::string ShortNumber(double value);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_LETTERING_H_
