// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_COLOURS_H_
#define VITRINE_REPORT_COLOURS_H_

#include <opencv2/core.hpp>

namespace vitrine {

// Which value gets which colour.
//   sequential: `low` is dark, `high` bright yellow (OpenCV's inferno, perceptually uniform);
//   diverging: from -high (blue) over 0 (nearly white) to high (red), linear in CIELAB with both ends equally dark, so
//   that equally large values of either sign catch the eye equally.
struct ColourRange {
  double low = 0;  // -high where diverging
  double high = 0;
  bool diverging = false;
};

// The range that just holds `values` ([rows, columns] CV_32F); symmetric around 0 where `diverging`.
ColourRange RangeOf(const cv::Mat& values, bool diverging);

// RGB, CV_8UC3, of the same size. Values outside the range take the colour of its end; where the range is empty every
// value takes the colour of its middle.
cv::Mat Paint(const cv::Mat& values, const ColourRange& range);

// The range itself as a strip: low to high from left to right, or, where `upright`, from bottom to top.
cv::Mat ColourBar(const ColourRange& range, cv::Size size, bool upright);

}  // namespace vitrine

#endif  // VITRINE_REPORT_COLOURS_H_
