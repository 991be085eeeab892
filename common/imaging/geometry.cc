// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/geometry.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int kMostSide = 8192;
constexpr int kMostCell = 1024;
constexpr int64_t kMostInputPixels = int64_t{kMostSide} * kMostSide;
// Maximum factor by which the aspect ratio of a grid may differ from the image's. An image that would need a larger
// change is rejected.
constexpr double kMostDistortion = 2;

absl::Status OutOfRange(absl::string_view field, double value, absl::string_view range) {
  return absl::InvalidArgumentError(absl::StrCat("preprocessing: ", field, " is ", value, "; it must be ", range));
}

absl::Status ValidateCrop(const v1::FixedResolution& fixed) {
  if (fixed.crop() == 0) return absl::OkStatus();
  if (fixed.fit() != v1::FixedResolution::CENTER_CROP) {
    return OutOfRange("crop", fixed.crop(), "left out unless fit is CENTER_CROP");
  }
  if (!(fixed.crop() > 0 && fixed.crop() <= 1)) return OutOfRange("crop", fixed.crop(), "above 0 and at most 1");
  if (std::max(fixed.height(), fixed.width()) / fixed.crop() > kMostSide) {
    return OutOfRange("crop", fixed.crop(), "so large that height / crop and width / crop are at most 8192");
  }
  return absl::OkStatus();
}

absl::Status ValidateResolution(const v1::Preprocessing& preprocessing) {
  if (preprocessing.has_fixed()) {
    const v1::FixedResolution& fixed = preprocessing.fixed();
    if (fixed.height() < 1 || fixed.height() > kMostSide) return OutOfRange("height", fixed.height(), "1 to 8192");
    if (fixed.width() < 1 || fixed.width() > kMostSide) return OutOfRange("width", fixed.width(), "1 to 8192");
    if (fixed.fit() != v1::FixedResolution::STRETCH && fixed.fit() != v1::FixedResolution::CENTER_CROP) {
      return OutOfRange("fit", fixed.fit(), "STRETCH or CENTER_CROP");
    }
    return ValidateCrop(fixed);
  }
  if (!preprocessing.has_native()) {
    return absl::InvalidArgumentError("preprocessing: resolution is missing; state `fixed` or `native`");
  }
  const v1::NativeResolution& native = preprocessing.native();
  if (native.cell() < 1 || native.cell() > kMostCell) return OutOfRange("cell", native.cell(), "1 to 1024");
  if (native.min_tokens() < 1) return OutOfRange("min_tokens", native.min_tokens(), "at least 1");
  if (native.max_tokens() < native.min_tokens()) {
    return OutOfRange("max_tokens", native.max_tokens(), absl::StrCat("at least min_tokens, ", native.min_tokens()));
  }
  const int64_t most = kMostInputPixels / (int64_t{native.cell()} * native.cell());
  if (native.max_tokens() > most) {
    return OutOfRange("max_tokens", native.max_tokens(),
                      absl::StrCat("at most ", most, " with a cell of ", native.cell(), " pixels"));
  }
  return absl::OkStatus();
}

// Rounds like timm's evaluation transform, which uses torchvision's Resize and CenterCrop. For a square input the
// longer side is truncated to whole pixels, otherwise both sides are rounded. The corner of the crop is rounded. Halves
// are rounded to the even number.
Geometry PlanFixed(const v1::FixedResolution& fixed, Size original) {
  const Size input = {fixed.height(), fixed.width()};
  Geometry geometry{original, input, 0, 0, input};
  if (fixed.fit() == v1::FixedResolution::STRETCH) return geometry;
  const double crop = fixed.crop() == 0 ? 1 : fixed.crop();
  const Size cover = {static_cast<int>(input.height / crop), static_cast<int>(input.width / crop)};
  if (cover.height == cover.width) {
    const auto scaled = [&](int side, int other) {
      return side <= other ? cover.height : static_cast<int>(static_cast<double>(cover.height) * side / other);
    };
    geometry.scaled = {scaled(original.height, original.width), scaled(original.width, original.height)};
  } else {
    const double ratio = std::min(static_cast<double>(original.height) / cover.height,  //
                                  static_cast<double>(original.width) / cover.width);
    const auto scaled = [&](int side, int least) { return std::max<int>(least, std::nearbyint(side / ratio)); };
    geometry.scaled = {scaled(original.height, cover.height), scaled(original.width, cover.width)};
  }
  geometry.top = static_cast<int>(std::nearbyint((geometry.scaled.height - input.height) / 2.0));
  geometry.left = static_cast<int>(std::nearbyint((geometry.scaled.width - input.width) / 2.0));
  return geometry;
}

struct Grid {
  int rows = 0;
  int columns = 0;
};

int CellsOf(double pixels, int cell) {
  return std::max<int>(1, std::lround(pixels / cell));
}

// Finds the grid nearest to (aspect, tokens) among the grids within the limits and the maximum distortion, if there are
// any. The distance is measured in ratios: (kAspectWeight * log of the aspects' ratio)^2 + (log of the tokens'
// ratio)^2.
class NearestGrid {
 public:
  NearestGrid(const v1::NativeResolution& limits, double aspect, double tokens)
      : limits_(limits), log_aspect_(std::log(aspect)), log_tokens_(std::log(tokens)) {}

  // Searches from the best number of rows outward, as long as another number of rows may give a nearer grid.
  std::optional<Grid> Find() {
    const double best_rows = std::exp((log_tokens_ - log_aspect_) / 2);
    const int middle = std::clamp<double>(std::floor(best_rows), 1, limits_.max_tokens());
    for (int rows = middle; rows >= 1 && LeastDistance(rows) <= distance_; --rows) OfferRows(rows);
    for (int rows = middle + 1; rows <= limits_.max_tokens() && LeastDistance(rows) <= distance_; ++rows) {
      OfferRows(rows);
    }
    return nearest_;
  }

 private:
  // Weight of an error in aspect ratio, which distorts the image, relative to an error in the number of tokens, which
  // only changes the compute time.
  static constexpr double kAspectWeight = 4;
  static constexpr double kSquaredWeight = kAspectWeight * kAspectWeight;

  // Returns a lower bound of the distance of all grids with this number of rows: the minimum over real numbers of
  // columns, without limits.
  double LeastDistance(int rows) const {
    const double error = 2 * std::log(rows) - log_tokens_ + log_aspect_;
    return kSquaredWeight / (1 + kSquaredWeight) * error * error;
  }

  void OfferRows(int rows) {
    const double log_rows = std::log(rows);
    const double keeps_aspect = log_rows + log_aspect_;
    const double keeps_tokens = log_tokens_ - log_rows;
    const double ideal = std::exp((kSquaredWeight * keeps_aspect + keeps_tokens) / (1 + kSquaredWeight));
    const double distortion = std::log(kMostDistortion) + 1e-9;
    const double least = std::max(std::ceil(static_cast<double>(limits_.min_tokens()) / rows),
                                  std::ceil(std::exp(keeps_aspect - distortion)));
    const double most = std::min(std::floor(static_cast<double>(limits_.max_tokens()) / rows),
                                 std::floor(std::exp(keeps_aspect + distortion)));
    if (least > most) return;
    for (const double columns : {std::floor(ideal), std::ceil(ideal)}) Offer(rows, std::clamp(columns, least, most));
  }

  // Keeps the nearer grid. If two grids are equally near, keeps the grid with more tokens; if the numbers of tokens are
  // also equal, keeps the grid that was offered first. For example, a grid and its transpose are equally near if the
  // image is square.
  void Offer(int rows, double columns) {
    const double aspect_error = std::log(columns / rows) - log_aspect_;
    const double token_error = std::log(columns * rows) - log_tokens_;
    const double distance = kSquaredWeight * aspect_error * aspect_error + token_error * token_error;
    constexpr double kSame = 1e-9;  // tolerance for rounding of the logarithms
    const bool tie = nearest_ && std::abs(distance - distance_) <= kSame;
    if (tie && columns * rows <= static_cast<double>(nearest_->rows) * nearest_->columns) return;
    if (!tie && distance >= distance_) return;
    nearest_ = {rows, static_cast<int>(columns)};
    distance_ = distance;
  }

  const v1::NativeResolution& limits_;
  const double log_aspect_;
  const double log_tokens_;
  std::optional<Grid> nearest_;
  double distance_ = std::numeric_limits<double>::infinity();
};

absl::StatusOr<Grid> GridOfImage(const v1::NativeResolution& limits, Size original) {
  const int cell = limits.cell();
  const double own_tokens = static_cast<double>(original.height) * original.width / cell / cell;
  if (original.height % cell == 0 && original.width % cell == 0 && own_tokens >= limits.min_tokens() &&
      own_tokens <= limits.max_tokens()) {
    return Grid{original.height / cell, original.width / cell};
  }
  const double aspect = static_cast<double>(original.width) / original.height;
  const double tokens = std::clamp<double>(own_tokens, limits.min_tokens(), limits.max_tokens());
  if (const std::optional<Grid> grid = NearestGrid(limits, aspect, tokens).Find()) return *grid;
  return absl::InvalidArgumentError(absl::StrCat(
      "the image has ", original.width, " x ", original.height, " pixels, and no grid of ", limits.min_tokens(), " to ",
      limits.max_tokens(), " tokens has that shape; crop it closer to a square"));
}

absl::StatusOr<Grid> GridOfRequest(const v1::NativeResolution& limits, Size requested) {
  if (requested.height < 1 || requested.height > kMostSide || requested.width < 1 || requested.width > kMostSide) {
    return absl::InvalidArgumentError(absl::StrCat("resolution is ", requested.width, " x ", requested.height,
                                                   " (width x height); both sides must be 1 to ", kMostSide));
  }
  const Grid grid = {CellsOf(requested.height, limits.cell()), CellsOf(requested.width, limits.cell())};
  const int64_t tokens = int64_t{grid.rows} * grid.columns;
  if (tokens < limits.min_tokens() || tokens > limits.max_tokens()) {
    return absl::InvalidArgumentError(
        absl::StrCat("resolution ", requested.width, " x ", requested.height, " (width x height) is ", grid.columns,
                     " x ", grid.rows, " = ", tokens, " tokens of ", limits.cell(), " pixels a side; the model takes ",
                     limits.min_tokens(), " to ", limits.max_tokens(), " tokens"));
  }
  return grid;
}

}  // namespace

absl::Status ValidatePreprocessing(const v1::Preprocessing& preprocessing) {
  const int channels = preprocessing.channels();
  if (channels != 1 && channels != 3) return OutOfRange("channels", channels, "1 or 3");
  if (preprocessing.mean_size() != channels) {
    return OutOfRange("the number of means", preprocessing.mean_size(), absl::StrCat("that of channels, ", channels));
  }
  if (preprocessing.std_size() != channels) {
    return OutOfRange("the number of stds", preprocessing.std_size(), absl::StrCat("that of channels, ", channels));
  }
  for (const float mean : preprocessing.mean()) {
    if (!std::isfinite(mean)) return OutOfRange("a mean", mean, "finite");
  }
  for (const float std : preprocessing.std()) {
    if (!std::isfinite(std) || std <= 0) return OutOfRange("a std", std, "finite and above 0");
  }
  if (preprocessing.interpolation() != v1::BILINEAR && preprocessing.interpolation() != v1::BICUBIC) {
    return OutOfRange("interpolation", preprocessing.interpolation(), "BILINEAR or BICUBIC");
  }
  if (!v1::Preprocessing::Decode_IsValid(preprocessing.decode())) {
    return OutOfRange("decode", preprocessing.decode(), "FULL or REDUCED");
  }
  if (!v1::Preprocessing::Rounding_IsValid(preprocessing.rounding())) {
    return OutOfRange("rounding", preprocessing.rounding(), "NONE or PILLOW");
  }
  return ValidateResolution(preprocessing);
}

absl::StatusOr<Geometry> PlanGeometry(const v1::Preprocessing& preprocessing, Size original,
                                      std::optional<Size> requested) {
  if (original.height < 1 || original.width < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the image has ", original.width, " x ", original.height, " pixels; it must have at least one"));
  }
  RETURN_IF_ERROR(ValidateResolution(preprocessing));
  if (preprocessing.has_fixed()) {
    const v1::FixedResolution& fixed = preprocessing.fixed();
    if (requested) {
      return absl::InvalidArgumentError(absl::StrCat("resolution was given, but the model takes every image at ",
                                                     fixed.width(), " x ", fixed.height(), "; leave it out"));
    }
    return PlanFixed(fixed, original);
  }
  const v1::NativeResolution& native = preprocessing.native();
  ASSIGN_OR_RETURN(const Grid grid, requested ? GridOfRequest(native, *requested) : GridOfImage(native, original));
  const Size input = {grid.rows * native.cell(), grid.columns * native.cell()};
  return Geometry{original, input, 0, 0, input};
}

}  // namespace vitrine
