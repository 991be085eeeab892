// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <spng.h>

#include <algorithm>
#include <memory>

#include "common/imaging/decode.h"
#include "common/imaging/header.h"
#include "tests/common/imaging/images.h"
#include "tests/common/imaging/webp_files.h"

namespace vitrine {
namespace {

struct File {
  const char* name;
  std::string bytes;
};

std::vector<File> Files() {
  const Image colour = NoiseImage(19, 13, 3);
  const std::vector<uint8_t> indices = PlainImage(9, 40, {1}).pixels;
  return {
      {"baseline", JpegFile(SmoothImage(19, 13, 3), {.exif = ExifBlock(6)})},
      {"subsampled with restarts", JpegFile(colour, {.quality = 30, .subsample = true, .restart_rows = 1})},
      {"progressive", JpegFile(SmoothImage(19, 13, 3), {.progressive = true})},
      {"CMYK", JpegFile(colour, {.quality = 20, .cmyk = true})},
      {"PNG", PngFile(colour, {.exif = ExifBlock(6)})},
      {"interlaced PNG", PngFile(colour, {.interlaced = true})},
      {"palette PNG",
       PngFile(9, 40, indices,
               {.color_type = SPNG_COLOR_TYPE_INDEXED, .palette = {9, 8, 7, 6, 5, 4}, .palette_alpha = {1, 2}})},
      {"WebP", WebpFile(colour, {.quality = 50})},
      {"lossless WebP", WebpFile(colour, {.lossless = true, .exif = ExifBlock(6)})},
      {"WebP with alpha", WebpFile(colour, {.quality = 50, .alpha = NoiseImage(19, 13, 1).pixels})},
  };
}

// Decodes a copy of the file in a buffer of exactly the file's size, so that AddressSanitizer detects reads beyond the
// end.
absl::StatusOr<Image> DecodeExactly(std::string_view bytes) {
  const std::unique_ptr<char[]> copy(new char[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return Decode({copy.get(), bytes.size()});
}

TEST(Damage, ATruncatedFileIsRefused) {
  for (const File& file : Files()) {
    ASSERT_TRUE(Decode(file.bytes).ok()) << file.name << ": " << Decode(file.bytes).status();
    for (size_t size = 0; size < file.bytes.size(); ++size) {
      const absl::StatusOr<Image> image = DecodeExactly(std::string_view(file.bytes).substr(0, size));
      ASSERT_FALSE(image.ok()) << file.name << " truncated to " << size << " of " << file.bytes.size()
                               << " bytes decoded";
      ASSERT_EQ(image.status().code(), absl::StatusCode::kInvalidArgument) << image.status();
    }
  }
}

TEST(Damage, AFlippedBitGivesAnErrorOrAnImageWithTheSizeInTheHeader) {
  for (const File& file : Files()) {
    std::string bytes = file.bytes;
    int refused = 0;
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
      const absl::StatusOr<Image> image = DecodeExactly(bytes);
      if (image.ok()) {
        const absl::StatusOr<ImageHeader> header = ReadHeader(bytes);
        ASSERT_TRUE(header.ok()) << file.name << ": Decode accepts a file that ReadHeader refuses, bit " << bit;
        ASSERT_EQ(image->width, header->width);
        ASSERT_EQ(image->height, header->height);
        ASSERT_EQ(image->pixels.size(), static_cast<size_t>(image->width) * image->height * image->channels);
      } else {
        ASSERT_EQ(image.status().code(), absl::StatusCode::kInvalidArgument) << image.status();
        ++refused;
      }
      bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
    }
    EXPECT_GT(refused, 0) << file.name;
  }
}

TEST(Damage, APngWithAnyFlippedBitIsRefused) {
  std::string bytes = PngFile(NoiseImage(7, 5, 3), {.exif = ExifBlock(3)});
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
    EXPECT_FALSE(Decode(bytes).ok()) << "bit " << bit % 8 << " of byte " << bit / 8;
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }
}

}  // namespace
}  // namespace vitrine
