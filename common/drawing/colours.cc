// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/colours.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

namespace vitrine {
namespace {

constexpr int kSteps = 255;  // odd, so that 0 is exactly the middle colour
// Colours in CIELAB (D65) of 0 and of both ends; all are within sRGB.
const cv::Vec3f kNeutral(97, 0, 0), kBlue(39, 12, -51), kRed(39, 60, 38);

// Returns the diverging colours, [1, kSteps] RGB, CV_8UC3.
cv::Mat MakeDiverging() {
  cv::Mat lab(1, kSteps, CV_32FC3);
  for (int i = 0; i < kSteps; ++i) {
    const float position = 2.0f * static_cast<float>(i) / (kSteps - 1) - 1;
    const cv::Vec3f& end = position < 0 ? kBlue : kRed;
    lab.at<cv::Vec3f>(0, i) = kNeutral + std::abs(position) * (end - kNeutral);
  }
  cv::Mat rgb, bytes;
  cv::cvtColor(lab, rgb, cv::COLOR_Lab2RGB);
  rgb.convertTo(bytes, CV_8U, 255);
  return bytes;
}

cv::Mat PaintDiverging(const cv::Mat& values, double largest) {
  static const cv::Mat colours = MakeDiverging();
  const double to_step = largest > 0 ? (kSteps - 1) / (2 * largest) : 0;
  cv::Mat painted(values.size(), CV_8UC3);
  for (int row = 0; row < values.rows; ++row) {
    for (int column = 0; column < values.cols; ++column) {
      const int step = cvRound((kSteps - 1) / 2.0 + values.at<float>(row, column) * to_step);
      painted.at<cv::Vec3b>(row, column) = colours.at<cv::Vec3b>(0, std::clamp(step, 0, kSteps - 1));
    }
  }
  return painted;
}

cv::Mat PaintSequential(const cv::Mat& values, const ColourRange& range) {
  cv::Mat bytes, painted;
  if (range.high > 0) {
    values.convertTo(bytes, CV_8U, 255 / range.high);
  } else {
    bytes = cv::Mat(values.size(), CV_8U, cv::Scalar(128));
  }
  cv::applyColorMap(bytes, painted, cv::COLORMAP_INFERNO);
  cv::cvtColor(painted, painted, cv::COLOR_BGR2RGB);
  return painted;
}

}  // namespace

cv::Mat Paint(const cv::Mat& values, const ColourRange& range) {
  return range.diverging ? PaintDiverging(values, range.high) : PaintSequential(values, range);
}

cv::Mat ColourBar(const ColourRange& range, cv::Size size, bool upright) {
  const int length = upright ? size.height : size.width;
  cv::Mat ramp(upright ? cv::Size(1, length) : cv::Size(length, 1), CV_32F);
  for (int i = 0; i < length; ++i) {
    const float position = length > 1 ? static_cast<float>(i) / static_cast<float>(length - 1) : 0.5f;
    ramp.at<float>(upright ? length - 1 - i : i) = position;
  }
  // Paints the ramp with a range of its own: the bar shows all colours even if the map's values are equal.
  cv::Mat painted, bar;
  painted = range.diverging ? Paint(2 * ramp - 1, {.high = 1, .diverging = true}) : Paint(ramp, {.high = 1});
  cv::resize(painted, bar, size, 0, 0, cv::INTER_NEAREST);
  return bar;
}

}  // namespace vitrine
