#include "report/overlay.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "report/png.h"

namespace vitrine {
namespace {

constexpr int kMinSide = 256;
constexpr int kMaxMatrixSide = 8192;
constexpr double kMapWeight = 0.55;  // of the map against the grey picture
constexpr double kUncovered = 0.35;  // brightness that is left outside the grid
const cv::Scalar kFrame(255, 255, 255);

// Executors are pinned one to a core; a pool of OpenCV's own would compete with them.
void UseOneThread() {
  [[maybe_unused]] static const bool once = (cv::setNumThreads(1), true);
}

absl::Status CheckValues(int rows, int columns, std::span<const float> values) {
  if (rows < 1 || columns < 1 || static_cast<size_t>(rows) * columns != values.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a map of ", rows, "x", columns, " cells cannot have ", values.size(), " values"));
  }
  if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v); })) {
    return absl::InvalidArgumentError("the map has a value that is not finite");
  }
  return absl::OkStatus();
}

// [rows, columns] bytes: `low` becomes 0, `high` 255. Where they are equal, the middle.
cv::Mat ToBytes(const cv::Mat& values, double low, double high) {
  cv::Mat bytes;
  if (high > low) {
    values.convertTo(bytes, CV_8U, 255 / (high - low), -low * 255 / (high - low));
  } else {
    bytes = cv::Mat(values.size(), CV_8U, cv::Scalar(128));
  }
  return bytes;
}

cv::Mat Colour(const cv::Mat& bytes, int scale) {
  cv::Mat colour;
  cv::applyColorMap(bytes, colour, scale);
  cv::cvtColor(colour, colour, cv::COLOR_BGR2RGB);
  return colour;
}

cv::Mat ViewOf(int rows, int columns, std::span<const float> values) {
  return cv::Mat(rows, columns, CV_32F, const_cast<float*>(values.data()));  // only read
}

// The picture as RGB in the size it is shown in.
cv::Mat ForDisplay(const Image& picture, int max_side) {
  const cv::Mat stored(picture.height, picture.width, picture.channels == 1 ? CV_8UC1 : CV_8UC3,
                       const_cast<uint8_t*>(picture.pixels.data()));  // only read
  const int longer = std::max(picture.width, picture.height);
  const double scale = std::min(std::max(longer, kMinSide), max_side) / static_cast<double>(longer);
  const cv::Size size(std::max(1, cv::saturate_cast<int>(picture.width * scale)),
                      std::max(1, cv::saturate_cast<int>(picture.height * scale)));
  cv::Mat shown;
  cv::resize(stored, shown, size, 0, 0, scale < 1 ? cv::INTER_AREA : cv::INTER_CUBIC);
  if (shown.channels() == 1) cv::cvtColor(shown, shown, cv::COLOR_GRAY2RGB);
  return shown;
}

// `covers`, given in pixels of the picture, in whole pixels of what is shown.
cv::Rect CoveredPart(const v1::Rectangle& covers, const Image& picture, cv::Size shown) {
  const double x_scale = static_cast<double>(shown.width) / picture.width;
  const double y_scale = static_cast<double>(shown.height) / picture.height;
  const cv::Point first(cvRound(covers.left() * x_scale), cvRound(covers.top() * y_scale));
  const cv::Point last(cvRound((covers.left() + covers.width()) * x_scale),
                       cvRound((covers.top() + covers.height()) * y_scale));
  return cv::Rect(first, last) & cv::Rect(cv::Point(), shown);
}

absl::Status CheckPicture(const Image& picture, const v1::Rectangle& covers, int max_side) {
  if (picture.width < 1 || picture.height < 1 || (picture.channels != 1 && picture.channels != 3) ||
      picture.pixels.size() != static_cast<size_t>(picture.width) * picture.height * picture.channels) {
    return absl::InvalidArgumentError("the picture under the map is empty or incomplete");
  }
  if (max_side < 1) return absl::InvalidArgumentError(absl::StrCat("max_side is ", max_side, ", must be at least 1"));
  // Positions went through float and a division, so a border may be off by a fraction of a pixel.
  const float slack = 0.5f;
  const bool inside = covers.left() >= -slack && covers.top() >= -slack && covers.width() > 0 && covers.height() > 0 &&
                      covers.left() + covers.width() <= picture.width + slack &&
                      covers.top() + covers.height() <= picture.height + slack;
  if (!inside) {
    return absl::InvalidArgumentError(absl::StrCat("the map covers ", covers.width(), "x", covers.height(), " at (",
                                                   covers.left(), ", ", covers.top(), "), outside the picture of ",
                                                   picture.width, "x", picture.height, " pixels"));
  }
  return absl::OkStatus();
}

Image Compose(const Image& picture, const SpatialMap& map, int max_side) {
  const cv::Mat shown = ForDisplay(picture, max_side);
  const cv::Rect covered = CoveredPart(map.covers, picture, shown.size());
  Image result{.width = shown.cols, .height = shown.rows, .channels = 3, .pixels = {}};
  result.pixels.resize(static_cast<size_t>(shown.cols) * shown.rows * 3);
  cv::Mat canvas(shown.rows, shown.cols, CV_8UC3, result.pixels.data());
  shown.convertTo(canvas, CV_8U, kUncovered);
  if (covered.empty()) return result;

  const cv::Mat values = ViewOf(map.rows, map.columns, map.values);
  double low = 0, high = 0;
  cv::minMaxLoc(values, &low, &high);
  // The scale comes from the cells themselves; where the cubic filter overshoots them, the conversion to bytes clips.
  cv::Mat smooth;
  cv::resize(values, smooth, covered.size(), 0, 0, cv::INTER_CUBIC);
  cv::Mat grey;
  cv::cvtColor(shown(covered), grey, cv::COLOR_RGB2GRAY);
  cv::cvtColor(grey, grey, cv::COLOR_GRAY2RGB);
  cv::addWeighted(Colour(ToBytes(smooth, low, high), cv::COLORMAP_INFERNO), kMapWeight, grey, 1 - kMapWeight, 0,
                  canvas(covered));
  cv::rectangle(canvas, covered, kFrame, 1);
  return result;
}

Image Enlarge(const cv::Mat& cells) {
  const int longer = std::max(cells.rows, cells.cols);
  const int factor = (std::max(longer, kMinSide) + longer - 1) / longer;
  Image result{.width = cells.cols * factor, .height = cells.rows * factor, .channels = 3, .pixels = {}};
  result.pixels.resize(static_cast<size_t>(result.width) * result.height * 3);
  cv::Mat canvas(result.height, result.width, CV_8UC3, result.pixels.data());
  cv::resize(cells, canvas, canvas.size(), 0, 0, cv::INTER_NEAREST);
  return result;
}

cv::Mat ColourMatrix(const cv::Mat& values) {
  double low = 0, high = 0;
  cv::minMaxLoc(values, &low, &high);
  if (low >= 0) return Colour(ToBytes(values, low, high), cv::COLORMAP_INFERNO);
  const double largest = std::max(-low, high);
  // Towards its ends this scale turns dark for both signs; the inner part is blue, white and red.
  return Colour(ToBytes(values, -1.7 * largest, 1.7 * largest), cv::COLORMAP_TWILIGHT_SHIFTED);
}

}  // namespace

absl::StatusOr<std::string> DrawOverlay(const Image& picture, const SpatialMap& map, int max_side) {
  RETURN_IF_ERROR(CheckValues(map.rows, map.columns, map.values));
  RETURN_IF_ERROR(CheckPicture(picture, map.covers, max_side));
  try {
    UseOneThread();
    return EncodePng(Compose(picture, map, max_side));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("cannot draw the overlay: ", error.what()));
  }
}

absl::StatusOr<std::string> DrawMatrix(int rows, int columns, std::span<const float> values) {
  if (rows > kMaxMatrixSide || columns > kMaxMatrixSide) {
    return absl::InvalidArgumentError(
        absl::StrCat("a matrix of ", rows, "x", columns, " is too large to draw; at most ", kMaxMatrixSide, " a side"));
  }
  RETURN_IF_ERROR(CheckValues(rows, columns, values));
  try {
    UseOneThread();
    return EncodePng(Enlarge(ColourMatrix(ViewOf(rows, columns, values))));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("cannot draw the matrix: ", error.what()));
  }
}

}  // namespace vitrine
