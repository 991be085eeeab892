// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_FIGURE_H_
#define VITRINE_COMMON_DRAWING_FIGURE_H_

#include <opencv2/core.hpp>
#include <span>

#include "absl/status/status.h"
#include "common/imaging/image.h"

namespace vitrine {

// Colours that all drawings use.

inline const cv::Scalar kInk(40, 40, 40);       // titles
inline const cv::Scalar kFaintInk(95, 95, 95);  // ticks and notes
inline const cv::Scalar kLine(150, 150, 150);   // axes

// Makes OpenCV draw on the calling thread: executors are pinned, one per core, and OpenCV's thread pool would compete
// with them.
void UseOneThread();

// Returns INVALID_ARGUMENT if there are not exactly rows * columns values (both at least 1), or one is not finite.
absl::Status CheckValues(int rows, int columns, std::span<const float> values);

// Returns a read-only [rows, columns] CV_32F view of `values`.
cv::Mat ViewOf(int rows, int columns, std::span<const float> values);

// Returns an RGB image of `width` x `height` in the background colour.
Image EmptyImage(int width, int height);

// Returns a [height, width] CV_8UC3 view of the image's pixels. Requires three channels.
cv::Mat CanvasOf(Image& image);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_FIGURE_H_
