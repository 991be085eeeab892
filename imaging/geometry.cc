#include "imaging/geometry.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace vitrine {
namespace {

constexpr int kMostSide = 8192;
constexpr int kMostCell = 1024;
constexpr int64_t kMostInputPixels = int64_t{kMostSide} * kMostSide;
// A grid may distort the aspect by this factor before the picture is refused.
constexpr double kMostDistortion = 2;

absl::Status OutOfRange(absl::string_view field, double value, absl::string_view range) {
  return absl::InvalidArgumentError(absl::StrCat("preprocessing: ", field, " is ", value, "; it must be ", range));
}

absl::Status ValidateResolution(const v1::Preprocessing& preprocessing) {
  if (preprocessing.has_fixed()) {
    const v1::FixedResolution& fixed = preprocessing.fixed();
    if (fixed.height() < 1 || fixed.height() > kMostSide) return OutOfRange("height", fixed.height(), "1 to 8192");
    if (fixed.width() < 1 || fixed.width() > kMostSide) return OutOfRange("width", fixed.width(), "1 to 8192");
    if (fixed.fit() != v1::FixedResolution::STRETCH && fixed.fit() != v1::FixedResolution::CENTER_CROP) {
      return OutOfRange("fit", fixed.fit(), "STRETCH or CENTER_CROP");
    }
    return absl::OkStatus();
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

Geometry PlanFixed(const v1::FixedResolution& fixed, Size original) {
  const Size input = {fixed.height(), fixed.width()};
  Geometry geometry{original, input, 0, 0, input};
  if (fixed.fit() == v1::FixedResolution::STRETCH) return geometry;
  // Scale the side that would be too short otherwise to its exact size, and the other by the same factor.
  const double scale = std::max(static_cast<double>(input.height) / original.height,  //
                                static_cast<double>(input.width) / original.width);
  const auto scaled = [&](int side, int least) { return std::max<int>(least, std::lround(side * scale)); };
  geometry.scaled = {scaled(original.height, input.height), scaled(original.width, input.width)};
  geometry.top = (geometry.scaled.height - input.height) / 2;
  geometry.left = (geometry.scaled.width - input.width) / 2;
  return geometry;
}

struct Grid {
  int rows = 0;
  int columns = 0;
};

// How far apart two positive numbers are as a ratio: 0 if equal, symmetric.
double LogRatio(double a, double b) {
  return std::abs(std::log(a / b));
}

int CellsOf(double pixels, int cell) {
  return std::max<int>(1, std::lround(pixels / cell));
}

// Chooses among grids by one distance, then by another; the first of equals stays.
class NearestGrid {
 public:
  void Offer(Grid grid, double distance, double second) {
    constexpr double kSame = 1e-9;  // rounding of the logarithms
    if (found_ && (distance > distance_ + kSame || (distance > distance_ - kSame && second >= second_ - kSame))) return;
    found_ = true;
    grid_ = grid;
    distance_ = distance;
    second_ = second;
  }
  bool found() const { return found_; }
  Grid grid() const { return grid_; }
  double distance() const { return distance_; }

 private:
  bool found_ = false;
  Grid grid_;
  double distance_ = 0;
  double second_ = 0;
};

// Grids that keep the aspect (columns / rows) to the nearest cell: one side is given, the other is the nearest number
// of cells. Of those within the limits, the one whose tokens come nearest to `tokens`.
NearestGrid NearestInTokens(const v1::NativeResolution& limits, double aspect, double tokens) {
  NearestGrid nearest;
  const auto offer = [&](int64_t rows, int64_t columns) {
    if (rows < 1 || columns < 1 || rows * columns < limits.min_tokens() || rows * columns > limits.max_tokens()) return;
    nearest.Offer({static_cast<int>(rows), static_cast<int>(columns)}, LogRatio(rows * columns, tokens),
                  LogRatio(static_cast<double>(columns) / rows, aspect));
  };
  // The largest side that can fit: side * (side * ratio - 1/2) <= max_tokens, the other side being rounded down.
  const auto most = [&](double ratio) {
    const double side = (0.5 + std::sqrt(0.25 + 4 * ratio * limits.max_tokens())) / (2 * ratio) + 1;
    return std::min<int64_t>(limits.max_tokens(), static_cast<int64_t>(side));
  };
  const int64_t most_rows = most(aspect);
  const int64_t most_columns = most(1 / aspect);
  for (int64_t rows = 1; rows <= most_rows; ++rows) offer(rows, std::llround(rows * aspect));
  for (int64_t columns = 1; columns <= most_columns; ++columns) offer(std::llround(columns / aspect), columns);
  return nearest;
}

// Of all grids within the limits the one whose aspect comes nearest, whatever the distortion; then nearest in tokens.
NearestGrid NearestInAspect(const v1::NativeResolution& limits, double aspect, double tokens) {
  NearestGrid nearest;
  for (int rows = 1; rows <= limits.max_tokens(); ++rows) {
    const int least = (limits.min_tokens() + rows - 1) / rows;
    const int most = limits.max_tokens() / rows;
    if (least > most) continue;
    const double ideal = std::clamp<double>(rows * aspect, least, most);
    for (const double columns : {std::floor(ideal), std::ceil(ideal)}) {
      nearest.Offer({rows, static_cast<int>(columns)}, LogRatio(columns / rows, aspect),
                    LogRatio(columns * rows, tokens));
    }
  }
  return nearest;
}

absl::StatusOr<Grid> GridOfPicture(const v1::NativeResolution& limits, Size original) {
  const int cell = limits.cell();
  const double own_tokens = static_cast<double>(original.height) * original.width / cell / cell;
  if (original.height % cell == 0 && original.width % cell == 0 && own_tokens >= limits.min_tokens() &&
      own_tokens <= limits.max_tokens()) {
    return Grid{original.height / cell, original.width / cell};
  }
  const double aspect = static_cast<double>(original.width) / original.height;
  const double tokens = std::clamp<double>(own_tokens, limits.min_tokens(), limits.max_tokens());
  if (const NearestGrid nearest = NearestInTokens(limits, aspect, tokens); nearest.found()) return nearest.grid();
  const NearestGrid nearest = NearestInAspect(limits, aspect, tokens);
  if (nearest.distance() > std::log(kMostDistortion)) {
    return absl::InvalidArgumentError(absl::StrCat("the picture has ", original.width, " x ", original.height,
                                                   " pixels, too long and narrow for a model that takes ",
                                                   limits.min_tokens(), " to ", limits.max_tokens(),
                                                   " tokens; crop it to at most ", 2 * limits.max_tokens(), " to 1"));
  }
  return nearest.grid();
}

absl::StatusOr<Grid> GridOfWish(const v1::NativeResolution& limits, Size wish) {
  if (wish.height < 1 || wish.height > kMostSide || wish.width < 1 || wish.width > kMostSide) {
    return absl::InvalidArgumentError(
        absl::StrCat("resolution is ", wish.width, " x ", wish.height, "; both sides must be 1 to ", kMostSide));
  }
  const Grid grid = {CellsOf(wish.height, limits.cell()), CellsOf(wish.width, limits.cell())};
  const int64_t tokens = int64_t{grid.rows} * grid.columns;
  if (tokens < limits.min_tokens() || tokens > limits.max_tokens()) {
    return absl::InvalidArgumentError(
        absl::StrCat("resolution ", wish.width, " x ", wish.height, " (width x height) is ", grid.columns, " x ",
                     grid.rows, " = ", tokens, " tokens of ", limits.cell(), " pixels a side; the model takes ",
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
  return ValidateResolution(preprocessing);
}

absl::StatusOr<Geometry> PlanGeometry(const v1::Preprocessing& preprocessing, Size original, std::optional<Size> wish) {
  if (original.height < 1 || original.width < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the picture has ", original.width, " x ", original.height, " pixels; it must have at least one"));
  }
  RETURN_IF_ERROR(ValidateResolution(preprocessing));
  if (preprocessing.has_fixed()) {
    const v1::FixedResolution& fixed = preprocessing.fixed();
    if (wish) {
      return absl::InvalidArgumentError(absl::StrCat("resolution was given, but the model takes every picture at ",
                                                     fixed.width(), " x ", fixed.height(), "; leave it out"));
    }
    return PlanFixed(fixed, original);
  }
  const v1::NativeResolution& native = preprocessing.native();
  ASSIGN_OR_RETURN(const Grid grid, wish ? GridOfWish(native, *wish) : GridOfPicture(native, original));
  const Size input = {grid.rows * native.cell(), grid.columns * native.cell()};
  return Geometry{original, input, 0, 0, input};
}

}  // namespace vitrine
