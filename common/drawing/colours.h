// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_COLOURS_H_
#define VITRINE_COMMON_DRAWING_COLOURS_H_

#include <opencv2/core.hpp>

#include "common/drawing/colour_range.h"

namespace vitrine {

// Returns the values as RGB, CV_8UC3, of the same size. A value outside the range gets the colour of the nearer end. If
// the range is empty, every value gets the colour in the middle of the colour scale.
cv::Mat Paint(const cv::Mat& values, const ColourRange& range);

// Returns the range as a strip, from low to high: left to right or, if `upright`, bottom to top.
cv::Mat ColourBar(const ColourRange& range, cv::Size size, bool upright);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_COLOURS_H_
