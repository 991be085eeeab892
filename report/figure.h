// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_FIGURE_H_
#define VITRINE_REPORT_FIGURE_H_

#include <opencv2/core.hpp>
#include <span>

#include "absl/status/status.h"
#include "imaging/image.h"

namespace vitrine {

// What the drawings have in common.

inline const cv::Scalar kInk(40, 40, 40);       // titles
inline const cv::Scalar kFaintInk(95, 95, 95);  // ticks and notes
inline const cv::Scalar kLine(150, 150, 150);   // axes

// OpenCV draws on the calling thread from now on: executors are pinned one to a core, and a pool of its own would
// compete with them.
void UseOneThread();

// INVALID_ARGUMENT: the number of values is not rows * columns (both at least 1), or one is not finite.
absl::Status CheckValues(int rows, int columns, std::span<const float> values);

// [rows, columns] CV_32F over the values themselves; only to be read.
cv::Mat ViewOf(int rows, int columns, std::span<const float> values);

// An RGB picture of `width` x `height` in the colour of paper.
Image EmptyImage(int width, int height);

// [height, width] CV_8UC3 over the picture's own pixels. Requires three channels.
cv::Mat CanvasOf(Image& image);

}  // namespace vitrine

#endif  // VITRINE_REPORT_FIGURE_H_
