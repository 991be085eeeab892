// SPDX-License-Identifier: Apache-2.0
#include "models/families/input.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int kMaxSide = 8192;

}  // namespace

absl::Status CheckRange(absl::string_view field, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("config.", field, " is ", value, "; it must be ", least, " to ", most));
}

absl::Status CheckMultiple(absl::string_view field, int64_t value, absl::string_view of_field, int64_t of) {
  if (value % of == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("config.", field, " is ", value, "; it must be a multiple of config.", of_field, ", which is ", of));
}

absl::Status ValidateCommon(const v1::ModelConfig& config) {
  const v1::Preprocessing& preprocessing = config.preprocessing();
  if (preprocessing.channels() != 1 && preprocessing.channels() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("config.preprocessing.channels is ", preprocessing.channels(), "; it must be 1 or 3"));
  }
  RETURN_IF_ERROR(CheckRange("classes", config.classes(), config.has_vit() ? 0 : 1, 100'000));
  switch (preprocessing.resolution_case()) {
    case v1::Preprocessing::kFixed:
      RETURN_IF_ERROR(CheckRange("preprocessing.fixed.height", preprocessing.fixed().height(), 1, kMaxSide));
      return CheckRange("preprocessing.fixed.width", preprocessing.fixed().width(), 1, kMaxSide);
    case v1::Preprocessing::kNative:
      RETURN_IF_ERROR(CheckRange("preprocessing.native.cell", preprocessing.native().cell(), 1, kMaxSide));
      RETURN_IF_ERROR(
          CheckRange("preprocessing.native.min_tokens", preprocessing.native().min_tokens(), 1, kMostTokens));
      return CheckRange("preprocessing.native.max_tokens", preprocessing.native().max_tokens(),
                        preprocessing.native().min_tokens(), kMostTokens);
    case v1::Preprocessing::RESOLUTION_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("config.preprocessing has neither `fixed` nor `native`; it must have one of them");
}

absl::Status ValidateCell(const v1::ModelConfig& config, absl::string_view field, int cell) {
  const v1::Preprocessing& preprocessing = config.preprocessing();
  if (preprocessing.has_native()) {
    if (preprocessing.native().cell() == cell) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("config.preprocessing.native.cell is ",
                                                   preprocessing.native().cell(), "; it must equal config.", field,
                                                   ", which is ", cell));
  }
  if (preprocessing.fixed().height() >= cell && preprocessing.fixed().width() >= cell) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("config.preprocessing.fixed is ", preprocessing.fixed().height(), "x",
                                                 preprocessing.fixed().width(),
                                                 " pixels, less than one cell of config.", field, ", which is ", cell));
}

absl::StatusOr<Grid> GridOfInput(const v1::Preprocessing& preprocessing, int cell, int height, int width) {
  const Grid grid{height / cell, width / cell};
  if (preprocessing.has_fixed()) {
    if (height == preprocessing.fixed().height() && width == preprocessing.fixed().width()) return grid;
    return absl::InvalidArgumentError(absl::StrCat("an input of ", height, "x", width, " pixels; this model takes ",
                                                   preprocessing.fixed().height(), "x", preprocessing.fixed().width(),
                                                   " only"));
  }
  const v1::NativeResolution& native = preprocessing.native();
  if (grid.rows > 0 && grid.columns > 0 && grid.cells() >= native.min_tokens() && grid.cells() <= native.max_tokens()) {
    return grid;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "an input of ", height, "x", width, " pixels makes ", grid.rows, "x", grid.columns, " tokens; this model takes ",
      native.min_tokens(), " to ", native.max_tokens(), " tokens of ", cell, "x", cell, " pixels"));
}

}  // namespace vitrine
