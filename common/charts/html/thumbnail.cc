// SPDX-License-Identifier: Apache-2.0
#include "common/charts/html/thumbnail.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "common/imaging/encode/encode_jpeg.h"
#include "common/imaging/encode/encode_png.h"
#include "common/imaging/resize.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int kTinySide = 96;  // images of up to this side are enlarged without smoothing
constexpr int kBestQuality = 84, kWorstQuality = 24, kQualityStep = 15;

}  // namespace

Image Reduced(const Image& image, int side) {
  const int longest = std::max(image.width, image.height);
  if (longest <= side) return image;
  const double scale = static_cast<double>(side) / longest;
  const Size size{std::max(1, static_cast<int>(image.height * scale)),
                  std::max(1, static_cast<int>(image.width * scale))};
  return ResizeForDisplay(image, size, v1::BILINEAR);
}

absl::StatusOr<ImageCard::Tile> Thumbnail(const Image& image, int side, const std::string& caption) {
  const int longest = std::max(image.width, image.height);
  if (longest < 1 || image.pixels.empty()) return absl::InvalidArgumentError("an empty image has no thumbnail");
  ImageCard::Tile thumbnail{.uri = "", .caption = caption, .pixels = longest <= kTinySide};
  if (thumbnail.pixels) {
    ASSIGN_OR_RETURN(const std::string png, EncodePng(image));
    thumbnail.uri = DataUri("image/png", png);
    if (png.size() <= kMostThumbnailBytes) return thumbnail;
  }
  const Image shown = Reduced(image, side);
  std::string file;
  for (int quality = kBestQuality; quality >= kWorstQuality; quality -= kQualityStep) {
    ASSIGN_OR_RETURN(file, EncodeJpeg(shown, quality));
    if (file.size() <= kMostThumbnailBytes) break;
  }
  if (file.size() > kMostThumbnailBytes)
    return Thumbnail(Reduced(shown, std::max(shown.width, shown.height) / 2), side, caption);
  thumbnail.uri = DataUri("image/jpeg", file);
  return thumbnail;
}

}  // namespace vitrine
