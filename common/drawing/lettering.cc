// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/lettering.h"

#include <opencv2/imgproc.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace vitrine {
namespace {

constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
constexpr int kCapitals = 21;  // height of the font's capital letters at scale 1
constexpr int kSupersampling = 4;
constexpr int kMargin = 4;  // pixels around the text, for descenders and the stroke

double ScaleFor(int height) {
  return static_cast<double>(height) * kSupersampling / kCapitals;
}

int StrokeFor(int height) {
  return std::max(1, cvRound(height * kSupersampling * 0.115));
}

std::string Ascii(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if ((c & 0xc0) == 0x80) continue;  // continuation byte of a UTF-8 sequence
    result += c >= 32 && c < 127 ? c : '?';
  }
  return result;
}

// Returns the coverage of each pixel by the text, 0 to 255, CV_8U. The capital letters are centred vertically.
cv::Mat Ink(const std::string& text, int height) {
  int below = 0;
  const cv::Size size = cv::getTextSize(text, kFont, ScaleFor(height), StrokeFor(height), &below);
  const int width = (size.width + kSupersampling - 1) / kSupersampling + 2 * kMargin;
  const int rows = height + 2 * (height / 2 + kMargin);
  cv::Mat large(rows * kSupersampling, width * kSupersampling, CV_8U, cv::Scalar(0));
  cv::putText(large, text, {kMargin * kSupersampling, (height / 2 + kMargin + height) * kSupersampling}, kFont,
              ScaleFor(height), cv::Scalar(255), StrokeFor(height), cv::LINE_AA);
  cv::Mat ink;
  cv::resize(large, ink, {width, rows}, 0, 0, cv::INTER_AREA);
  return ink;
}

}  // namespace

int TextWidth(const std::string& text, int height) {
  if (text.empty()) return 0;
  int below = 0;
  const int width = cv::getTextSize(Ascii(text), kFont, ScaleFor(height), StrokeFor(height), &below).width;
  return (width + kSupersampling - 1) / kSupersampling;
}

std::vector<std::string> WrapText(const std::string& text, int height, int width) {
  std::vector<std::string> lines;
  if (text.empty()) return lines;
  for (const absl::string_view paragraph : absl::StrSplit(text, '\n')) {
    std::string line;
    for (std::string word : std::vector<std::string>(absl::StrSplit(paragraph, ' '))) {
      if (!line.empty() && TextWidth(absl::StrCat(line, " ", word), height) > width)
        lines.push_back(std::exchange(line, ""));
      while (line.empty() && TextWidth(word, height) > width && word.size() > 1) {
        size_t fits = word.size() - 1;
        while (fits > 1 && TextWidth(word.substr(0, fits), height) > width) --fits;
        lines.push_back(word.substr(0, fits));
        word.erase(0, fits);
      }
      absl::StrAppend(&line, line.empty() ? "" : " ", word);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

void Write(cv::Mat& canvas, const std::string& text, cv::Point at, const Lettering& lettering) {
  if (text.empty()) return;
  cv::Mat ink = Ink(Ascii(text), lettering.height);
  const int length = ink.cols - 2 * kMargin;
  int along = -kMargin;
  if (lettering.anchor == Lettering::Anchor::kCentre) along -= length / 2;
  if (lettering.anchor == Lettering::Anchor::kRight) along -= length;
  cv::Point corner(at.x + along, at.y - ink.rows / 2);
  if (lettering.upwards) {
    corner = {at.x - ink.rows / 2, at.y - along - ink.cols};
    cv::rotate(ink, ink, cv::ROTATE_90_COUNTERCLOCKWISE);
  }
  const cv::Rect inside = cv::Rect(corner, ink.size()) & cv::Rect({}, canvas.size());
  for (int y = inside.y; y < inside.br().y; ++y) {
    for (int x = inside.x; x < inside.br().x; ++x) {
      const double alpha = ink.at<uint8_t>(y - corner.y, x - corner.x) / 255.0;
      cv::Vec3b& pixel = canvas.at<cv::Vec3b>(y, x);
      for (int channel = 0; channel < 3; ++channel) {
        pixel[channel] =
            cv::saturate_cast<uint8_t>(pixel[channel] + alpha * (lettering.colour[channel] - pixel[channel]));
      }
    }
  }
}

std::string ShortNumber(double value) {
  return absl::StrFormat("%.3g", value == 0 ? 0.0 : value);  // never "-0"
}

}  // namespace vitrine
