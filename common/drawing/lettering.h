// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_LETTERING_H_
#define VITRINE_COMMON_DRAWING_LETTERING_H_

#include <opencv2/core.hpp>
#include <string>
#include <vector>

namespace vitrine {

// Text of a figure, in OpenCV's Hershey font, drawn at four times the size and reduced.
struct Lettering {
  int height = 12;                   // height of capitals, in pixels
  cv::Scalar colour = {60, 60, 60};  // RGB
  enum class Anchor { kLeft, kCentre, kRight } anchor = Anchor::kLeft;
  bool upwards = false;  // reads from bottom to top; the anchor then applies to the vertical
};

// Returns the width of `text` in pixels.
int TextWidth(const std::string& text, int height);

// Splits text into lines of at most `width` pixels, at spaces and at line breaks of `text`; a wider word is split.
// Empty text has no line.
std::vector<std::string> WrapText(const std::string& text, int height, int width);

// Writes `text` with the middle of its capitals at `at`; the anchor makes `at` its left end, centre or right end. Text
// outside the canvas (CV_8UC3, RGB) is cut off. The font has ASCII only: other characters become '?'.
void Write(cv::Mat& canvas, const std::string& text, cv::Point at, const Lettering& lettering);

// Formats a number in at most seven characters: "0", "0.125", "-12.5", "3e-05".
std::string ShortNumber(double value);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_LETTERING_H_
