// SPDX-License-Identifier: Apache-2.0
// Decodes arbitrary bytes as an image. The decoders must not crash. ReadHeader and Decode must agree, and the two ways
// to compute a model's input must agree.
#include <spng.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "common/imaging/decode.h"
#include "common/imaging/decode_input.h"
#include "common/imaging/decode_planned.h"
#include "common/imaging/geometry.h"
#include "common/imaging/header.h"
#include "common/imaging/preprocess.h"
#include "tests/common/imaging/images.h"
#include "tests/common/imaging/webp_files.h"
#include "tests/fuzz/require.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using vitrine::ExifBlock;
using vitrine::JpegFile;
using vitrine::NoiseImage;
using vitrine::PngFile;
using vitrine::Require;
using vitrine::SmoothImage;
using vitrine::WebpFile;

// The limits are small, so that a run is quick.
constexpr vitrine::ImageLimits kLimits = {.max_pixels = 1 << 14, .max_side = 1024, .max_scans = 20};

// Returns an image of every kind. If libFuzzer has no corpus, the mutator starts from these images.
const std::vector<std::string>& Seeds() {
  static const auto& seeds = *new std::vector<std::string>{
      JpegFile(SmoothImage(16, 12, 3), {.exif = ExifBlock(6)}),
      JpegFile(NoiseImage(20, 9, 3), {.quality = 40, .subsample = true, .restart_rows = 1}),
      JpegFile(SmoothImage(16, 16, 3), {.progressive = true}),
      JpegFile(SmoothImage(16, 16, 1), {.scans = 12}),
      JpegFile(NoiseImage(8, 8, 3), {.cmyk = true, .ycck = true}),
      PngFile(NoiseImage(9, 7, 3), {.exif = ExifBlock(8, false)}),
      PngFile(NoiseImage(9, 7, 1), {.interlaced = true}),
      PngFile(5, 3, NoiseImage(5 * 8, 3, 1).pixels,
              {.color_type = SPNG_COLOR_TYPE_TRUECOLOR_ALPHA, .bit_depth = 16, .interlaced = true}),
      PngFile(8, 4, {0xE4, 0x1B, 0xE4, 0x1B, 0xE4, 0x1B, 0xE4, 0x1B},
              {.color_type = SPNG_COLOR_TYPE_INDEXED,
               .bit_depth = 2,
               .palette = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
               .palette_alpha = {0, 128}}),
      PngFile(4, 2, NoiseImage(8, 2, 1).pixels,
              {.color_type = SPNG_COLOR_TYPE_GRAYSCALE, .bit_depth = 16, .transparent = {77}}),
      WebpFile(NoiseImage(9, 7, 3), {.quality = 30, .exif = ExifBlock(6)}),
      WebpFile(NoiseImage(9, 7, 3), {.lossless = true, .alpha = NoiseImage(9, 7, 1).pixels}),
      WebpFile(SmoothImage(16, 16, 3), {.quality = 80, .alpha = NoiseImage(16, 16, 1).pixels}),
  };
  return seeds;
}

// Sets the correct checksum in every chunk of a PNG. Otherwise no mutation would pass the check of the checksums.
void RepairChecksums(uint8_t* data, size_t size) {
  for (size_t at = 8; at + 12 <= size;) {
    const size_t length = size_t{data[at]} << 24 | data[at + 1] << 16 | data[at + 2] << 8 | data[at + 3];
    if (length > size - at - 12) return;
    const uLong sum = crc32(0, data + at + 4, static_cast<uInt>(length + 4));
    for (int i = 0; i < 4; ++i) data[at + 8 + length + i] = static_cast<uint8_t>(sum >> (24 - 8 * i));
    at += length + 12;
  }
}

vitrine::v1::Preprocessing Model() {
  vitrine::v1::Preprocessing model;
  model.set_channels(3);
  for (int c = 0; c < 3; ++c) {
    model.add_mean(0.5f);
    model.add_std(0.25f);
  }
  model.set_interpolation(vitrine::v1::BICUBIC);
  model.mutable_native()->set_cell(4);
  model.mutable_native()->set_min_tokens(4);
  model.mutable_native()->set_max_tokens(16);
  return model;
}

// Returns a preprocessing that crops columns of most landscape images and rows of most portrait images.
vitrine::v1::Preprocessing Cropping(vitrine::v1::Preprocessing::Decode decode) {
  vitrine::v1::Preprocessing model = Model();
  model.mutable_fixed()->set_height(5);
  model.mutable_fixed()->set_width(5);
  model.mutable_fixed()->set_fit(vitrine::v1::FixedResolution::CENTER_CROP);
  model.mutable_fixed()->set_crop(0.6f);
  model.set_decode(decode);
  return model;
}

vitrine::v1::Preprocessing RoundedLikePillow(vitrine::v1::Preprocessing model) {
  model.set_rounding(vitrine::v1::Preprocessing::PILLOW);
  return model;
}

// Requires that DecodeInput, which works row by row, gives the bits or the error of DecodePlanned and Preprocess, which
// work on the whole image.
void CompareInputs(std::string_view bytes, vitrine::Size size) {
  using vitrine::v1::Preprocessing;
  static const auto& models =
      *new std::vector<Preprocessing>{Model(), Cropping(Preprocessing::FULL), Cropping(Preprocessing::REDUCED),
                                      RoundedLikePillow(Cropping(Preprocessing::FULL))};
  for (const Preprocessing& model : models) {
    const auto geometry = vitrine::PlanGeometry(model, size);
    if (!geometry.ok()) continue;
    const auto input = vitrine::DecodeInput(bytes, model, *geometry);
    const auto image = vitrine::DecodePlanned(bytes, model, *geometry);
    Require(input.status() == image.status());
    if (!image.ok()) continue;
    const std::vector<float> expected = vitrine::Preprocess(*image, model, *geometry);
    Require(input->size() == expected.size());
    Require(std::memcmp(input->data(), expected.data(), expected.size() * sizeof(float)) == 0);
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (size < 16 || seed % 64 == 0) {
    const std::string& start = Seeds()[seed / 64 % Seeds().size()];
    size = std::min(start.size(), max_size);
    std::memcpy(data, start.data(), size);
  }
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 16 != 1 && size > 8 && data[0] == 0x89) RepairChecksums(data, size);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<vitrine::ImageHeader> header = vitrine::ReadHeader(bytes, kLimits);
  const absl::StatusOr<vitrine::Image> image = vitrine::Decode(bytes, kLimits);
  if (!header.ok()) {
    Require(header.status().code() == absl::StatusCode::kInvalidArgument && image.status() == header.status());
    return 0;
  }
  CompareInputs(bytes, {header->height, header->width});
  const int divisor = size % 2 == 0 ? 2 : 8;
  const absl::StatusOr<vitrine::Image> small = vitrine::DecodeReduced(bytes, divisor, kLimits);
  Require(small.ok() == image.ok() || small.status().code() == absl::StatusCode::kInvalidArgument);
  if (small.ok()) {
    Require(small->width == (header->width + divisor - 1) / divisor);
    Require(small->height == (header->height + divisor - 1) / divisor);
    Require(small->pixels.size() == static_cast<size_t>(small->width) * small->height * small->channels);
  }
  if (!image.ok()) {
    Require(image.status().code() == absl::StatusCode::kInvalidArgument);
    return 0;
  }
  Require(image->width == header->width && image->height == header->height);
  Require(image->channels == 1 || image->channels == 3);
  Require(image->pixels.size() == static_cast<size_t>(image->width) * image->height * image->channels);
  static const vitrine::v1::Preprocessing& model = *new vitrine::v1::Preprocessing(Model());
  const auto geometry = vitrine::PlanGeometry(model, {image->height, image->width});
  if (!geometry.ok()) return 0;
  for (const float value : vitrine::Preprocess(*image, model, *geometry)) Require(value > -10 && value < 10);
  return 0;
}
