// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spng.h>

#include <cstring>

#include "common/imaging/decode.h"
#include "tests/common/imaging/images.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;

// Position of the end of the header chunk.
constexpr size_t kBehindHeader = 8 + 25;

std::vector<uint8_t> Bytes16(const std::vector<uint16_t>& values) {
  std::vector<uint8_t> bytes(values.size() * 2);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Image MustDecode(const std::string& file) {
  absl::StatusOr<Image> image = Decode(file);
  EXPECT_TRUE(image.ok()) << image.status();
  return image.ok() ? *std::move(image) : Image{};
}

TEST(DecodePng, GreyAndColourAreExact) {
  for (const int channels : {1, 3}) {
    for (const bool interlaced : {false, true}) {
      for (const auto& [width, height] : {std::pair{1, 1}, {1, 37}, {37, 1}, {5, 3}, {61, 43}}) {
        const Image image = NoiseImage(width, height, channels);
        const Image decoded = MustDecode(PngFile(image, {.interlaced = interlaced}));
        EXPECT_EQ(LargestDifference(image, decoded), 0) << width << " x " << height << " x " << channels;
      }
    }
  }
}

TEST(DecodePng, LargeFilesHaveLargeChunks) {
  const Image image = NoiseImage(700, 500, 3);
  EXPECT_EQ(LargestDifference(image, MustDecode(PngFile(image))), 0);
}

TEST(DecodePng, LowDepthGreyIsScaledToTheFullRange) {
  // The byte 0b00'01'10'11 has four samples of depth 2: 0, 1/3, 2/3 and 1.
  const PngOptions options = {.color_type = SPNG_COLOR_TYPE_GRAYSCALE, .bit_depth = 2};
  const Image image = MustDecode(PngFile(4, 1, {0b00011011}, options));
  EXPECT_EQ(image.channels, 1);
  EXPECT_THAT(image.pixels, ElementsAre(0, 85, 170, 255));
  const PngOptions bits = {.color_type = SPNG_COLOR_TYPE_GRAYSCALE, .bit_depth = 1, .interlaced = true};
  EXPECT_THAT(MustDecode(PngFile(4, 1, {0b10110000}, bits)).pixels, ElementsAre(255, 0, 255, 255));
}

TEST(DecodePng, KeepsTheUpperEightOfSixteenBits) {
  const std::vector<uint8_t> samples = Bytes16({0, 128, 129, 32767, 65407, 65535});
  const PngOptions grey = {.color_type = SPNG_COLOR_TYPE_GRAYSCALE, .bit_depth = 16};
  EXPECT_THAT(MustDecode(PngFile(6, 1, samples, grey)).pixels, ElementsAre(0, 0, 0, 127, 255, 255));
  const PngOptions colour = {.color_type = SPNG_COLOR_TYPE_TRUECOLOR, .bit_depth = 16};
  const Image rgb = MustDecode(PngFile(2, 1, samples, colour));
  EXPECT_EQ(rgb.channels, 3);
  EXPECT_THAT(rgb.pixels, ElementsAre(0, 0, 0, 127, 255, 255));
}

TEST(DecodePng, PaletteAndItsTransparency) {
  const std::vector<uint8_t> palette = {255, 0, 0, 0, 255, 0, 10, 20, 30};
  PngOptions options = {.color_type = SPNG_COLOR_TYPE_INDEXED, .bit_depth = 8, .palette = palette};
  EXPECT_THAT(MustDecode(PngFile(3, 1, {2, 0, 1}, options)).pixels, ElementsAre(10, 20, 30, 255, 0, 0, 0, 255, 0));
  options.palette_alpha = {0, 255, 51};
  EXPECT_THAT(MustDecode(PngFile(3, 1, {2, 0, 1}, options)).pixels,
              ElementsAre(206, 208, 210, 255, 255, 255, 0, 255, 0));
}

TEST(DecodePng, AlphaIsCompositedOverWhite) {
  const PngOptions rgba = {.color_type = SPNG_COLOR_TYPE_TRUECOLOR_ALPHA};
  const Image image = MustDecode(PngFile(3, 1, {10, 20, 30, 255, 10, 20, 30, 0, 0, 100, 255, 51}, rgba));
  EXPECT_THAT(image.pixels, ElementsAre(10, 20, 30, 255, 255, 255, 204, 224, 255));
  const PngOptions grey = {.color_type = SPNG_COLOR_TYPE_GRAYSCALE_ALPHA};
  const Image grey_image = MustDecode(PngFile(3, 1, {10, 255, 10, 0, 0, 51}, grey));
  EXPECT_EQ(grey_image.channels, 1);
  EXPECT_THAT(grey_image.pixels, ElementsAre(10, 255, 204));
}

TEST(DecodePng, DeepAlphaIsCompositedOverWhite) {
  const PngOptions rgba = {.color_type = SPNG_COLOR_TYPE_TRUECOLOR_ALPHA, .bit_depth = 16};
  const Image image = MustDecode(PngFile(2, 1, Bytes16({0, 25700, 65535, 13107, 1, 2, 3, 0}), rgba));
  EXPECT_THAT(image.pixels, ElementsAre(204, 224, 255, 255, 255, 255));
  const PngOptions grey = {.color_type = SPNG_COLOR_TYPE_GRAYSCALE_ALPHA, .bit_depth = 16};
  EXPECT_THAT(MustDecode(PngFile(2, 1, Bytes16({0, 13107, 514, 65535}), grey)).pixels,
              ElementsAre(204, 204, 204, 2, 2, 2));
}

TEST(DecodePng, ATransparentColourIsWhite) {
  const PngOptions rgb = {.color_type = SPNG_COLOR_TYPE_TRUECOLOR, .transparent = {1, 2, 3}};
  EXPECT_THAT(MustDecode(PngFile(2, 1, {1, 2, 3, 1, 2, 4}, rgb)).pixels, ElementsAre(255, 255, 255, 1, 2, 4));
  const PngOptions grey = {.color_type = SPNG_COLOR_TYPE_GRAYSCALE, .transparent = {7}};
  EXPECT_THAT(MustDecode(PngFile(3, 1, {6, 7, 8}, grey)).pixels, ElementsAre(6, 255, 8));
  const PngOptions deep = {.color_type = SPNG_COLOR_TYPE_GRAYSCALE, .bit_depth = 16, .transparent = {700}};
  EXPECT_THAT(MustDecode(PngFile(2, 1, Bytes16({700, 701}), deep)).pixels, ElementsAre(255, 2));
  const PngOptions low = {.color_type = SPNG_COLOR_TYPE_GRAYSCALE, .bit_depth = 2, .transparent = {1}};
  EXPECT_THAT(MustDecode(PngFile(4, 1, {0b00011011}, low)).pixels, ElementsAre(0, 255, 170, 255));
}

// The decoder compares only the upper 8 of 16 bits of a pixel with the transparent colour, like Pillow.
TEST(DecodePng, ATransparentColourOfSixteenBitsIsWhite) {
  PngOptions options = {.color_type = SPNG_COLOR_TYPE_TRUECOLOR, .bit_depth = 16, .transparent = {0x0102, 0x2000, 0}};
  const std::vector<uint8_t> samples = Bytes16({0x0102, 0x2000, 0, 0x0103, 0x20FF, 1, 0x0202, 0x2000, 0});
  for (const bool interlaced : {false, true}) {
    options.interlaced = interlaced;
    EXPECT_THAT(MustDecode(PngFile(3, 1, samples, options)).pixels,
                ElementsAre(255, 255, 255, 255, 255, 255, 2, 32, 0));
  }
}

TEST(DecodePng, IgnoresChunksThatDoNotAffectPixels) {
  const Image image = NoiseImage(9, 9, 3);
  std::string file = PngFile(image);
  // These chunks have valid checksums but damaged contents. A decoder that parses them would therefore report an error.
  file.insert(kBehindHeader, PngChunk("iCCP", "no profile") + PngChunk("gAMA", "x") + PngChunk("eXIf", "??") +
                                 PngChunk("gAMA", "x") + PngChunk("zTXt", std::string(5000, 'z')));
  EXPECT_EQ(LargestDifference(image, MustDecode(file)), 0);
  EXPECT_EQ(LargestDifference(image, MustDecode(file + "behind the end")), 0);
}

TEST(DecodePng, DecodesTheDefaultImageOfAnAnimation) {
  const Image image = NoiseImage(4, 4, 3);
  std::string file = PngFile(image);
  file.insert(kBehindHeader, PngChunk("acTL", std::string("\0\0\0\2\0\0\0\0", 8)));
  const size_t end = file.size() - 12;
  file.insert(end, PngChunk("fcTL", std::string(26, '\1')) + PngChunk("fdAT", "frame two"));
  EXPECT_EQ(LargestDifference(image, MustDecode(file)), 0);
}

TEST(DecodePng, AWrongChecksumAndAShortChunkAreNamed) {
  std::string file = PngFile(NoiseImage(9, 9, 3));
  const std::string text = PngChunk("tEXt", "Comment\0hello");
  file.insert(kBehindHeader, text);
  ASSERT_TRUE(Decode(file).ok());
  std::string damaged = file;
  damaged[kBehindHeader + 9] ^= 4;
  ExpectRefused(damaged, "the checksum of its tEXt chunk is wrong");
  ExpectRefused(file.substr(0, kBehindHeader + text.size() + 20), "it ends within its IDAT chunk");
}

TEST(DecodePng, AWrongOrderOfChunksIsRefused) {
  const std::string file = PngFile(NoiseImage(9, 9, 3));
  const std::string front = file.substr(0, kBehindHeader);
  const std::string back = file.substr(kBehindHeader);
  const std::string end = file.substr(file.size() - 12);
  ExpectRefused(front + end, "no pixels");
  ExpectRefused(file.substr(0, file.size() - 12), "its end chunk (IEND) is missing");
  ExpectRefused(front + PngChunk("ABCD", "") + back, "critical ABCD chunk");
  ExpectRefused(front + front.substr(8) + back, "damaged");
  ExpectRefused(file.substr(0, 8) + back, "does not begin with its header");
  ExpectRefused(file.substr(0, file.size() - 12) + PngChunk("tEXt", "a") + PngChunk("IDAT", "b") + end, "two places");
  std::string many = front;
  for (int i = 0; i < 1100; ++i) many += PngChunk("tEXt", "");
  ExpectRefused(many + back, "more than 1024 chunks");
}

}  // namespace
}  // namespace vitrine
