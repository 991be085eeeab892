// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/fit_image.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/imaging/decode.h"
#include "common/imaging/encode/encode_jpeg.h"
#include "common/imaging/header.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int kQuality = 95;  // high enough that the loss does not affect predictions
constexpr int kDivisors[] = {1, 2, 4, 8};

bool Fits(int64_t height, int64_t width, const ImageLimits& limits) {
  return height * width <= limits.max_pixels && std::max(height, width) <= limits.max_side;
}

}  // namespace

std::string FittedImage::Note() const {
  if (before == after) return "its file is larger than the server accepts; sent as a JPEG of the same size";
  return absl::StrCat(before.width, " x ", before.height, " pixels are more than the server accepts; sent as ",
                      after.width, " x ", after.height);
}

absl::StatusOr<std::optional<FittedImage>> FitImage(std::string_view encoded, const FitLimits& limits) {
  ImageLimits here = limits.accepted;
  here.max_pixels = limits.most_pixels_here;
  here.max_side = std::numeric_limits<int>::max();
  ImageLimits none = here;
  none.max_pixels = std::numeric_limits<int64_t>::max();
  const absl::StatusOr<ImageHeader> header = ReadHeader(encoded, none);
  const bool small_file = static_cast<int64_t>(encoded.size()) <= limits.max_bytes;
  if (!header.ok()) {
    if (small_file) return std::nullopt;
    return header.status();
  }
  if (small_file && Fits(header->height, header->width, limits.accepted)) return std::nullopt;
  const int64_t pixels = int64_t{header->height} * header->width;
  if (pixels > here.max_pixels) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the image has %d x %d = %d pixels; at most %d are scaled down here, so scale it down yourself",
                        header->width, header->height, pixels, here.max_pixels));
  }
  for (const int divisor : kDivisors) {
    const auto reduced = [divisor](int side) { return (side + divisor - 1) / divisor; };
    if (!Fits(reduced(header->height), reduced(header->width), limits.accepted)) continue;
    ASSIGN_OR_RETURN(const Image image, DecodeReduced(encoded, divisor, here));
    ASSIGN_OR_RETURN(std::string jpeg, EncodeJpeg(image, kQuality));
    if (static_cast<int64_t>(jpeg.size()) > limits.max_bytes) continue;
    return FittedImage{.encoded = std::move(jpeg),
                       .before = {.height = header->height, .width = header->width},
                       .after = {.height = image.height, .width = image.width}};
  }
  return absl::InvalidArgumentError(absl::StrCat("the image has ", header->width, " x ", header->height,
                                                 " pixels; even an eighth of it is more than the server accepts"));
}

}  // namespace vitrine
