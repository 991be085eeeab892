// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/figure.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace vitrine {

void UseOneThread() {
  [[maybe_unused]] static const bool once = (cv::setNumThreads(1), true);
}

absl::Status CheckValues(int rows, int columns, std::span<const float> values) {
  if (rows < 1 || columns < 1 || static_cast<size_t>(rows) * static_cast<size_t>(columns) != values.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a map of ", rows, "x", columns, " cells cannot have ", values.size(), " values"));
  }
  if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v); })) {
    return absl::InvalidArgumentError("the map has a value that is not finite");
  }
  return absl::OkStatus();
}

cv::Mat ViewOf(int rows, int columns, std::span<const float> values) {
  return cv::Mat(rows, columns, CV_32F, const_cast<float*>(values.data()));
}

Image EmptyImage(int width, int height) {
  Image image{.width = width, .height = height, .channels = 3, .pixels = {}};
  image.pixels.assign(static_cast<size_t>(width) * static_cast<size_t>(height) * 3, 255);
  return image;
}

cv::Mat CanvasOf(Image& image) {
  return cv::Mat(image.height, image.width, CV_8UC3, image.pixels.data());
}

}  // namespace vitrine
