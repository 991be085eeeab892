// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_LETTERING_H_
#define VITRINE_REPORT_LETTERING_H_

#include <opencv2/core.hpp>
#include <string>
#include <vector>

namespace vitrine {

// Text of a figure, in OpenCV's Hershey strokes, drawn four times as large and reduced.
struct Lettering {
  int height = 12;                   // of capitals, in pixels
  cv::Scalar colour = {60, 60, 60};  // RGB
  enum class Anchor { kLeft, kCentre, kRight } anchor = Anchor::kLeft;
  bool upwards = false;  // reads from bottom to top; the anchor then lies along the vertical
};

// Pixels that `text` takes along its line.
int TextWidth(const std::string& text, int height);

// Lines that are no wider than `width` pixels, broken at spaces and where `text` has a line break; a word that is wider
// is broken within. No text is no line.
std::vector<std::string> WrapText(const std::string& text, int height, int width);

// Writes `text` with the middle of its capitals at `at`; the anchor says whether `at` is its left end, centre or right
// end. What lies outside the canvas (CV_8UC3, RGB) is cut. The strokes know ASCII alone: other characters become '?'.
void Write(cv::Mat& canvas, const std::string& text, cv::Point at, const Lettering& lettering);

// A number in at most seven characters: "0", "0.125", "-12.5", "3e-05".
std::string ShortNumber(double value);

}  // namespace vitrine

#endif  // VITRINE_REPORT_LETTERING_H_
