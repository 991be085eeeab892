// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_COLOURS_H_
#define VITRINE_COMMON_DRAWING_COLOURS_H_

#include <opencv2/core.hpp>

#include "common/drawing/colour_range.h"

namespace vitrine {

// Returns RGB, CV_8UC3, of the same size. Values outside the range get the colour of its end; with an empty range every
// value gets the colour of its middle.
cv::Mat Paint(const cv::Mat& values, const ColourRange& range);

// Returns the range as a strip: low to high from left to right, or, if `upright`, from bottom to top.
cv::Mat ColourBar(const ColourRange& range, cv::Size size, bool upright);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_COLOURS_H_
