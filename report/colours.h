// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_COLOURS_H_
#define VITRINE_REPORT_COLOURS_H_

#include <opencv2/core.hpp>

#include "report/colour_range.h"

namespace vitrine {

// RGB, CV_8UC3, of the same size. Values outside the range take the colour of its end; where the range is empty every
// value takes the colour of its middle.
cv::Mat Paint(const cv::Mat& values, const ColourRange& range);

// The range itself as a strip: low to high from left to right, or, where `upright`, from bottom to top.
cv::Mat ColourBar(const ColourRange& range, cv::Size size, bool upright);

}  // namespace vitrine

#endif  // VITRINE_REPORT_COLOURS_H_
