// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/decode.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/imaging/codecs/jpeg.h"
#include "common/imaging/codecs/png.h"
#include "common/imaging/codecs/webp.h"
#include "common/imaging/header.h"
#include "common/imaging/orientation.h"
#include "common/status_macros.h"

namespace vitrine {

namespace {

// Returns the rounded mean of each block of divisor x divisor pixels. Blocks at the right and lower edge may be
// smaller.
Image MeanOfBlocks(const Image& image, int divisor) {
  Image small;
  small.width = (image.width + divisor - 1) / divisor;
  small.height = (image.height + divisor - 1) / divisor;
  small.channels = image.channels;
  const size_t row = static_cast<size_t>(small.width) * small.channels;
  small.pixels.resize(row * small.height);
  std::vector<uint32_t> sums(row);
  for (int y = 0; y < small.height; ++y) {
    std::fill(sums.begin(), sums.end(), 0);
    const int rows = std::min(divisor, image.height - y * divisor);
    for (int r = 0; r < rows; ++r) {
      const uint8_t* from = &image.pixels[static_cast<size_t>(y * divisor + r) * image.width * image.channels];
      for (int x = 0; x < image.width; ++x) {
        for (int c = 0; c < image.channels; ++c) sums[static_cast<size_t>(x / divisor) * image.channels + c] += *from++;
      }
    }
    for (size_t i = 0; i < row; ++i) {
      const int x = static_cast<int>(i) / image.channels;
      const uint32_t count = static_cast<uint32_t>(rows * std::min(divisor, image.width - x * divisor));
      small.pixels[y * row + i] = static_cast<uint8_t>((sums[i] + count / 2) / count);
    }
  }
  return small;
}

absl::StatusOr<Image> DecodeStored(std::string_view bytes, const ImageHeader& header, int divisor,
                                   const ImageLimits& limits) {
  if (header.format == ImageFormat::kJpeg) return DecodeJpeg(bytes, header, limits, divisor);
  ASSIGN_OR_RETURN(Image stored,
                   header.format == ImageFormat::kPng ? DecodePng(bytes, header) : DecodeWebp(bytes, header));
  return divisor == 1 ? std::move(stored) : MeanOfBlocks(stored, divisor);
}

}  // namespace

absl::StatusOr<Image> Decode(std::string_view bytes, const ImageLimits& limits) {
  return DecodeReduced(bytes, 1, limits);
}

absl::StatusOr<Image> DecodeReduced(std::string_view bytes, int divisor, const ImageLimits& limits) {
  if (divisor != 1 && divisor != 2 && divisor != 4 && divisor != 8) {
    return absl::InvalidArgumentError(absl::StrCat("an image is decoded at 1/1, 1/2, 1/4 or 1/8, not 1/", divisor));
  }
  ASSIGN_OR_RETURN(const ImageHeader header, ReadHeader(bytes, limits));
  ASSIGN_OR_RETURN(Image stored, DecodeStored(bytes, header, divisor, limits));
  return Orient(std::move(stored), header.orientation);
}

}  // namespace vitrine
