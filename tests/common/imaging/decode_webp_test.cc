// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <webp/decode.h>

#include "common/imaging/codecs/over_white.h"
#include "common/imaging/decode.h"
#include "common/imaging/header.h"
#include "tests/common/imaging/images.h"
#include "tests/common/imaging/webp_files.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;

constexpr int kAnimated = 0x02, kWithAlpha = 0x10;

Image MustDecodeWebp(const std::string& file) {
  absl::StatusOr<Image> image = Decode(file);
  EXPECT_TRUE(image.ok()) << image.status();
  return image.ok() ? *std::move(image) : Image{};
}

// Returns the chunks of `file`, which must not have an extended header.
std::string Pixels(const std::string& file) {
  return file.substr(12);
}

struct Recorded {
  const char* name;
  std::vector<uint8_t> file;
  int width, height;
  std::vector<uint8_t> pixels;
};

const std::vector<Recorded>& FilesOfPillow() {
  static const auto& files = *new std::vector<Recorded>{
#include "tests/golden/webp.inc"
  };
  return files;
}

TEST(DecodeWebp, EqualsTheResultOfPillow) {
  for (const Recorded& recorded : FilesOfPillow()) {
    const Image image = MustDecodeWebp({recorded.file.begin(), recorded.file.end()});
    const Image expected{recorded.width, recorded.height, 3, recorded.pixels};
    // For images with alpha, Pillow does not round to nearest, so values may differ by 1.
    const bool has_alpha = std::string_view(recorded.name).find("alpha") != std::string_view::npos;
    EXPECT_LE(LargestDifference(image, expected), has_alpha ? 1 : 0) << recorded.name;
  }
}

TEST(DecodeWebp, LosslessFilesAreExactAndLossyFilesAreClose) {
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 37}, {37, 1}, {61, 43}}) {
    const Image noise = NoiseImage(width, height, 3);
    EXPECT_EQ(LargestDifference(noise, MustDecodeWebp(WebpFile(noise, {.lossless = true}))), 0);
  }
  const Image smooth = SmoothImage(61, 43, 3);
  EXPECT_LT(LargestDifference(smooth, MustDecodeWebp(WebpFile(smooth, {.quality = 95}))), 24);
}

// Returns files with their names. Each file is encoded differently and is larger than the pieces that the incremental
// decoder receives.
std::vector<std::pair<std::string, std::string>> LargeFiles() {
  const Image noise = NoiseImage(700, 600, 3), flat = PlainImage(700, 600, {10, 20, 30});
  const std::vector<uint8_t> alpha = SmoothImage(700, 600, 1).pixels;
  return {{"lossy", WebpFile(noise)},
          {"in eight parts", WebpFile(noise, {.partitions = 3})},
          {"lossless", WebpFile(noise, {.lossless = true})},
          {"lossy with alpha", WebpFile(noise, {.alpha = alpha})},
          {"lossless with alpha", WebpFile(noise, {.lossless = true, .alpha = alpha})},
          {"flat", WebpFile(flat)},
          {"flat and lossless", WebpFile(flat, {.lossless = true})},
          {"with what follows", WebpFile(noise, {.exif = ExifBlock(1)})}};
}

// Decodes the file with a single call of libwebp.
Image DecodedAtOnce(const std::string& file) {
  int width = 0, height = 0;
  uint8_t* const rgba = WebPDecodeRGBA(reinterpret_cast<const uint8_t*>(file.data()), file.size(), &width, &height);
  EXPECT_NE(rgba, nullptr);
  if (rgba == nullptr) return {};
  Image image{width, height, 3, {}};
  for (int i = 0; i < width * height; ++i) {
    for (int c = 0; c < 3; ++c) {
      image.pixels.push_back(OverWhite(rgba[4 * i + c], rgba[4 * i + 3]));
    }
  }
  WebPFree(rgba);
  return image;
}

TEST(DecodeWebp, DecodingInPiecesEqualsDecodingAtOnce) {
  for (const auto& [name, file] : LargeFiles()) {
    EXPECT_EQ(LargestDifference(MustDecodeWebp(file), DecodedAtOnce(file)), 0) << name;
  }
}

TEST(DecodeWebp, AlphaIsCompositedOverWhite) {
  const Image image{3, 1, 3, {10, 20, 30, 10, 20, 30, 0, 100, 255}};
  const Image decoded = MustDecodeWebp(WebpFile(image, {.lossless = true, .alpha = {255, 0, 51}}));
  EXPECT_THAT(decoded.pixels, ElementsAre(10, 20, 30, 255, 255, 255, 204, 224, 255));
}

TEST(DecodeWebp, TheOrientationAfterThePixelsIsApplied) {
  const Image image = NoiseImage(5, 3, 3);
  const Image turned = MustDecodeWebp(WebpFile(image, {.lossless = true, .exif = ExifBlock(6)}));
  EXPECT_EQ(LargestDifference(turned, MustDecodeWebp(PngFile(image, {.exif = ExifBlock(6)}))), 0);
  const std::string as_in_jpeg = std::string("Exif\0\0", 6) + ExifBlock(8, false);
  EXPECT_EQ(LargestDifference(MustDecodeWebp(WebpFile(image, {.lossless = true, .exif = as_in_jpeg})),
                              MustDecodeWebp(PngFile(image, {.exif = ExifBlock(8)}))),
            0);
}

TEST(DecodeWebp, IgnoresChunksThatDoNotAffectPixels) {
  const Image image = NoiseImage(9, 7, 3);
  const std::string pixels = Pixels(WebpFile(image, {.lossless = true}));
  const std::string file = WebpOfChunks(WebpHeaderChunk(0, 9, 7) + WebpChunk("ICCP", "no profile") +
                                        WebpChunk("WHAT", "odd") + pixels + WebpChunk("XMP ", "<x"));
  EXPECT_EQ(LargestDifference(image, MustDecodeWebp(file)), 0);
  EXPECT_EQ(LargestDifference(image, MustDecodeWebp(file + "behind the end")), 0);
}

TEST(DecodeWebp, AnAnimationIsRefusedWithAnExplanation) {
  const std::string pixels = Pixels(WebpFile(NoiseImage(9, 7, 3)));
  const std::string file = WebpOfChunks(WebpHeaderChunk(kAnimated, 9, 7) + WebpChunk("ANIM", std::string(6, '\0')) +
                                        WebpChunk("ANMF", std::string(16, '\0') + pixels));
  ExpectRefused(file, "animated WebP");
  ExpectRefused(file, "send one of its frames");
}

TEST(DecodeWebp, InvalidChunksAreRefused) {
  const std::string pixels = Pixels(WebpFile(NoiseImage(9, 7, 3), {.lossless = true}));
  const std::string header = WebpHeaderChunk(0, 9, 7);
  ASSERT_TRUE(Decode(WebpOfChunks(header + pixels)).ok());
  ExpectRefused(WebpOfChunks(header), "no pixels");
  ExpectRefused(WebpOfChunks(header + pixels + pixels), "two places");
  ExpectRefused(WebpOfChunks(WebpHeaderChunk(0, 9, 8) + pixels), "damaged");
  ExpectRefused(WebpOfChunks(WebpChunk("ABCD", "x") + pixels), "neither pixels nor a header");
  ExpectRefused(WebpOfChunks(""), "ends within its header");
  ExpectRefused(WebpOfChunks(header + pixels + "EXIF"), "ends within the header of a chunk");
  ExpectRefused(WebpOfChunks(WebpChunk("VP8 ", std::string(20, 'x'))), "do not begin as an image");
  ExpectRefused(WebpOfChunks(WebpChunk("VP8L", std::string(20, 'x'))), "do not begin as an image");
  std::string many = header;
  for (int i = 0; i < 1100; ++i) many += WebpChunk("JUNK", "");
  ExpectRefused(WebpOfChunks(many + pixels), "more than 1024 chunks");
}

TEST(DecodeWebp, ALengthShorterThanTheHeaderIsRefused) {
  std::string file = WebpFile(NoiseImage(9, 7, 3), {.lossless = true});
  for (const char length : {0, 1, 3}) {
    file.replace(4, 4, {length, 0, 0, 0});
    ExpectRefused(file, "ends within its header");
  }
}

// The lengths match the bytes of the file, but some pixels are missing.
TEST(DecodeWebp, PixelsThatEndEarlyAreRefused) {
  for (const WebpOptions& options : {WebpOptions{}, {.lossless = true}}) {
    const std::string pixels = Pixels(WebpFile(NoiseImage(90, 70, 3), options));
    const std::string type = pixels.substr(0, 4);
    for (const size_t percent : {10, 50, 90}) {
      ExpectRefused(WebpOfChunks(WebpChunk(type, pixels.substr(8, pixels.size() * percent / 100))), "damaged");
    }
  }
  const Image image = NoiseImage(90, 70, 3);
  const std::string chunks = Pixels(WebpFile(image, {.alpha = NoiseImage(90, 70, 1).pixels})).substr(18);
  ASSERT_EQ(chunks.substr(0, 4), "ALPH");
  const size_t pixels = chunks.find("VP8 ");
  ExpectRefused(WebpOfChunks(WebpHeaderChunk(kWithAlpha, 90, 70) + WebpChunk("ALPH", chunks.substr(8, 500)) +
                             chunks.substr(pixels)),
                "damaged");
}

}  // namespace
}  // namespace vitrine
