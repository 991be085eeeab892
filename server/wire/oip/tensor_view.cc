// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/tensor_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "server/wire/http/address.h"

namespace vitrine {
namespace {

constexpr char kViewMark = ':';
constexpr std::array<std::pair<std::string_view, PixelScale>, 3> kViews = {
    {{"tensor", PixelScale::kNone}, {"tensor-inception", PixelScale::kInception}, {"tensor-vgg", PixelScale::kVgg}}};
constexpr char kScales[] =
    "NAME:tensor accepts pixels from 0 to 255, NAME:tensor-inception from -1 to 1, and NAME:tensor-vgg minus 123, 117 "
    "and "
    "104 (grey: 128)";
// Pixel range, with tolerance for the client's rounding.
constexpr float kLeastPixel = -0.5F, kMostPixel = 255.5F;

// Inverse of a pixel scale: pixel (0 to 255) = value * factor + offset.
struct Unscaling {
  float factor = 1;
  float offset = 0;
};

Unscaling UnscalingOf(PixelScale scale, int channel, int channels) {
  constexpr std::array<float, 3> kVggMean = {123, 117, 104};
  constexpr float kVggGrey = 128, kHalf = 127.5F;
  if (scale == PixelScale::kInception) return {.factor = kHalf, .offset = kHalf};
  if (scale == PixelScale::kNone) return {};
  return {.offset = channels == 1 ? kVggGrey : kVggMean[static_cast<size_t>(channel)]};
}

// Returns true if all values are from -1 to 1 and not all are whole numbers, as for pixels divided by 255.
bool LooksDivided(std::string_view values) {
  bool is_whole = true;
  for (; !values.empty(); values.remove_prefix(sizeof(float))) {
    float value;
    std::memcpy(&value, values.data(), sizeof(value));
    if (!(std::abs(value) <= 1)) return false;
    is_whole = is_whole && value == std::floor(value);
  }
  return !is_whole;
}

}  // namespace

absl::StatusOr<ModelName> ReadModelName(const std::string& name) {
  const size_t mark = name.find(kViewMark);
  if (mark == std::string::npos) return ModelName{.model = name};
  const std::string_view view = std::string_view(name).substr(mark + 1);
  for (const auto& [word, scale] : kViews) {
    if (view == word) return ModelName{.model = name.substr(0, mark), .view = scale};
  }
  return absl::NotFoundError(absl::StrCat("\"", Shown(name), "\" is not a view of a model; ", kScales));
}

absl::StatusOr<FoundModel> FindNamed(const ClassifyService& service, const Caller& caller, const std::string& name,
                                     const std::string& version) {
  ASSIGN_OR_RETURN(const ModelName named, ReadModelName(name));
  ASSIGN_OR_RETURN(ModelHandle model, FindAddressed(service, caller, named.model, version));
  return FoundModel{.model = std::move(model), .view = named.view};
}

std::string NameOf(const std::string& model, std::optional<PixelScale> view) {
  for (const auto& [word, scale] : kViews) {
    if (view == scale) return absl::StrCat(model, std::string(1, kViewMark), std::string(word));
  }
  return model;
}

absl::StatusOr<Size> ViewSize(const v1::Preprocessing& preprocessing) {
  int side = 1;
  if (preprocessing.has_native()) {
    const v1::NativeResolution& native = preprocessing.native();
    const double tokens = std::sqrt(double{1} * native.min_tokens() * native.max_tokens());
    side = native.cell() * static_cast<int>(std::sqrt(tokens));
  }
  ASSIGN_OR_RETURN(const Geometry geometry, PlanGeometry(preprocessing, {side, side}));
  return geometry.input;
}

absl::StatusOr<std::string> ToModelInput(PixelScale scale, const v1::Preprocessing& preprocessing,
                                         std::string_view values) {
  if (scale != PixelScale::kInception && LooksDivided(values)) {
    return absl::InvalidArgumentError(
        absl::StrCat("has only values from -1 to 1, so it was scaled differently; ", kScales));
  }
  std::string input(values);
  const int channels = preprocessing.channels();
  const size_t plane = values.size() / static_cast<size_t>(channels);
  for (int channel = 0; channel < channels; ++channel) {
    const Unscaling unscaling = UnscalingOf(scale, channel, channels);
    const float mean = preprocessing.mean(channel), deviation = preprocessing.std(channel);
    for (size_t at = 0; at < plane; at += sizeof(float)) {
      char* const place = input.data() + static_cast<size_t>(channel) * plane + at;
      float value;
      std::memcpy(&value, place, sizeof(value));
      const float pixel = value * unscaling.factor + unscaling.offset;
      if (!(pixel >= kLeastPixel && pixel <= kMostPixel)) {
        return absl::InvalidArgumentError(
            absl::StrCat("has the value ", value, ", which is not a pixel value here; ", kScales));
      }
      value = (pixel / 255 - mean) / deviation;
      std::memcpy(place, &value, sizeof(value));
    }
  }
  return input;
}

}  // namespace vitrine
