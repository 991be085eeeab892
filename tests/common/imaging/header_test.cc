// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spng.h>

#include "absl/strings/escaping.h"
#include "common/imaging/decode.h"
#include "tests/common/imaging/images.h"
#include "tests/common/imaging/webp_files.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Refusal(std::string_view bytes, const ImageLimits& limits = {}) {
  const absl::StatusOr<ImageHeader> header = ReadHeader(bytes, limits);
  if (header.ok()) return "(accepted)";
  EXPECT_EQ(header.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Decode(bytes, limits).status(), header.status()) << "Decode returns another error";
  return std::string(header.status().message());
}

// Returns the start of a PNG: signature, header chunk, and the first bytes of the pixels.
std::string PngFront(uint32_t width, uint32_t height) {
  std::string header;
  for (const uint32_t side : {width, height}) {
    for (const int shift : {24, 16, 8, 0}) header.push_back(static_cast<char>(side >> shift));
  }
  header += std::string("\x08\x02\0\0\0", 5);
  return "\x89PNG\r\n\x1a\n" + PngChunk("IHDR", header) + PngChunk("IDAT", std::string(100, 'x'));
}

TEST(ReadHeader, ReturnsSizeAndOrientation) {
  const std::string jpeg = JpegFile(SmoothImage(30, 20, 3), {.exif = ExifBlock(6)});
  const ImageHeader header = *ReadHeader(jpeg);
  EXPECT_EQ(header.format, ImageFormat::kJpeg);
  EXPECT_EQ(header.stored_width, 30);
  EXPECT_EQ(header.stored_height, 20);
  EXPECT_EQ(header.orientation, 6);
  EXPECT_EQ(header.width, 20);
  EXPECT_EQ(header.height, 30);

  const ImageHeader png = *ReadHeader(PngFile(NoiseImage(30, 20, 1), {.exif = ExifBlock(3, false)}));
  EXPECT_EQ(png.format, ImageFormat::kPng);
  EXPECT_EQ(png.orientation, 3);
  EXPECT_EQ(png.width, 30);
  EXPECT_EQ(png.height, 20);

  for (const bool lossless : {false, true}) {
    const ImageHeader webp = *ReadHeader(WebpFile(NoiseImage(30, 20, 3), {.lossless = lossless}));
    EXPECT_EQ(webp.format, ImageFormat::kWebp);
    EXPECT_EQ(webp.orientation, 1);
    EXPECT_EQ(webp.width, 30);
    EXPECT_EQ(webp.height, 20);
  }
  std::string late = PngFile(NoiseImage(30, 20, 1));
  late.insert(late.size() - 12, PngChunk("eXIf", ExifBlock(6)));
  EXPECT_EQ(ReadHeader(late)->orientation, 6) << "an orientation after the pixels must be found";
  EXPECT_EQ(ReadHeader(late)->width, 20);

  const ImageHeader turned = *ReadHeader(WebpFile(NoiseImage(30, 20, 3), {.exif = ExifBlock(5)}));
  EXPECT_EQ(turned.orientation, 5);
  EXPECT_EQ(turned.width, 20);
}

TEST(ReadHeader, NeedsOnlyTheStartOfTheFile) {
  const std::string jpeg = JpegFile(NoiseImage(300, 200, 3), {.progressive = true});
  const std::string front = jpeg.substr(0, jpeg.find("\xFF\xDA") + 14);
  EXPECT_EQ(ReadHeader(front)->width, 300);
  const std::string png = PngFile(NoiseImage(300, 200, 3));
  EXPECT_EQ(ReadHeader(png.substr(0, 50))->width, 300);
  EXPECT_EQ(ReadHeader(WebpFile(NoiseImage(300, 200, 3)).substr(0, 50))->width, 300);
  const std::string webp = WebpFile(NoiseImage(300, 200, 3), {.exif = ExifBlock(6)});
  EXPECT_EQ(ReadHeader(webp)->width, 200);
  EXPECT_EQ(ReadHeader(webp.substr(0, 16 << 10))->width, 300)
      << "the orientation is after the pixels, so the start has the stored width";
}

// Like Pillow, ReadHeader also reads the orientation from text chunks and XMP.
TEST(ReadHeader, UsesTheOrientationOfTextAndXmpIfExifHasNone) {
  const std::string xmp = "<rdf:Description tiff:Orientation=\"6\"/>";
  const std::string in_text = "XML:com.adobe.xmp" + std::string(5, '\0') + xmp;
  const std::string profile =
      std::string("Raw profile type exif\0", 22) + "\nexif\n      34\n" + absl::BytesToHexString(ExifBlock(6)) + "\n";
  for (const bool behind : {false, true}) {
    for (const std::string& chunk : {PngChunk("iTXt", in_text), PngChunk("tEXt", profile)}) {
      std::string png = PngFile(NoiseImage(30, 20, 1));
      png.insert(behind ? png.size() - 12 : 33, chunk);
      EXPECT_EQ(ReadHeader(png)->orientation, 6);
      png.insert(33, PngChunk("eXIf", ExifBlock(3)));
      EXPECT_EQ(ReadHeader(png)->orientation, 3) << "EXIF must have priority";
    }
  }
  std::string jpeg = JpegFile(SmoothImage(30, 20, 3));
  const std::string segment = std::string("http://ns.adobe.com/xap/1.0/\0", 29) + xmp;
  jpeg.insert(2, std::string("\xFF\xE1\0", 3) + static_cast<char>(segment.size() + 2) + segment);
  EXPECT_EQ(ReadHeader(jpeg)->orientation, 6);
  constexpr int kXmpFlag = 0x04;
  const std::string pixels = WebpFile(NoiseImage(30, 20, 3)).substr(12) + WebpChunk("XMP ", xmp);
  EXPECT_EQ(ReadHeader(WebpOfChunks(WebpHeaderChunk(kXmpFlag, 30, 20) + pixels))->orientation, 6);
  EXPECT_EQ(ReadHeader(WebpOfChunks(WebpHeaderChunk(0, 30, 20) + pixels))->orientation, 1)
      << "XMP that the header does not announce must be ignored";
}

TEST(ReadHeader, NamesTheFormatOfOtherFiles) {
  EXPECT_THAT(Refusal(""), HasSubstr("empty"));
  EXPECT_THAT(Refusal("hello"), HasSubstr("neither a JPEG nor a PNG"));
  EXPECT_THAT(Refusal(std::string(20, '\0')), HasSubstr("neither a JPEG nor a PNG"));
  EXPECT_THAT(Refusal("GIF89a\1\0\1\0"), AllOf(HasSubstr("a GIF by its first bytes, regardless of its name"),
                                               HasSubstr("send a JPEG, PNG or WebP")));
  EXPECT_THAT(Refusal("version https://git-lfs.github.com/spec/v1"),
              HasSubstr("the image is a Git LFS pointer (git lfs pull fetches its file) by its first bytes"));
  EXPECT_THAT(Refusal(std::string("II*\0\x08\0\0\0", 8)), HasSubstr("a TIFF"));
  EXPECT_THAT(Refusal(std::string("MM\0*\0\0\0\x08", 8)), HasSubstr("a TIFF"));
  EXPECT_THAT(Refusal("BM\x36\x10"), HasSubstr("a BMP"));
  EXPECT_THAT(Refusal(std::string("\0\0\0\x18"
                                  "ftypheic",
                                  12)),
              HasSubstr("a HEIC"));
  EXPECT_THAT(Refusal(std::string("\0\0\0\x1c"
                                  "ftypavif",
                                  12)),
              HasSubstr("an AVIF"));
  EXPECT_THAT(Refusal("%PDF-1.7"), HasSubstr("a PDF"));
}

TEST(ReadHeader, APixelBombIsRefusedBecauseOfItsHeader) {
  EXPECT_THAT(Refusal(PngFront(32000, 32000)),
              HasSubstr("32000 x 32000 = 1024000000 pixels; at most 16777216 pixels (16.8 megapixels)"));
  EXPECT_THAT(Refusal(PngFront(0x7FFFFFFF, 0x7FFFFFFF)), HasSubstr("2147483647 x 2147483647"));
  EXPECT_THAT(Refusal(PngFront(0x80000000, 1)), HasSubstr("damaged"));
  EXPECT_THAT(Refusal(PngFront(0, 5)), HasSubstr("damaged"));
}

TEST(ReadHeader, TheLimitsAreExact) {
  EXPECT_TRUE(ReadHeader(PngFront(4096, 4096)).ok());
  EXPECT_TRUE(ReadHeader(PngFront(8192, 2048)).ok());
  EXPECT_THAT(Refusal(PngFront(4097, 4096)), HasSubstr("4097 x 4096"));
  EXPECT_THAT(Refusal(PngFront(8193, 1)), HasSubstr("8192 pixels a side"));
  EXPECT_THAT(Refusal(PngFront(1, 8193)), HasSubstr("8192 pixels a side"));
  EXPECT_THAT(Refusal(PngFront(11, 10), {.max_pixels = 109}), HasSubstr("11 x 10"));
  EXPECT_THAT(Refusal(WebpOfChunks(WebpHeaderChunk(0, 4097, 4096))), HasSubstr("4097 x 4096"));
  EXPECT_TRUE(ReadHeader(WebpOfChunks(WebpHeaderChunk(0, 4096, 4096))).ok());
  // The EXIF orientation of this 17-megapixel photograph swaps width and height. The error message must have the
  // displayed size.
  std::string photograph = JpegFile(SmoothImage(16, 16, 3), {.exif = ExifBlock(6)});
  const size_t frame = photograph.find("\xFF\xC0");
  photograph.replace(frame + 5, 4, "\x0D\xA0\x13\x60");
  EXPECT_THAT(Refusal(photograph), HasSubstr("3488 x 4960 = 17300480 pixels"));
}

TEST(ReadHeader, ADamagedHeaderIsRefused) {
  const std::string jpeg = JpegFile(SmoothImage(16, 16, 3));
  EXPECT_THAT(Refusal(jpeg.substr(0, 3)), HasSubstr("ends within its header"));
  EXPECT_THAT(Refusal(jpeg.substr(0, 2) + "\xFF\xD9"), HasSubstr("holds no image"));
  EXPECT_THAT(Refusal(jpeg.substr(0, 2) + "\xFF\xDA" + std::string("\0\x02", 2)), HasSubstr("frame header is missing"));
  std::string many = jpeg.substr(0, 2);
  for (int i = 0; i < 1100; ++i) many += std::string("\xFF\xFE\0\x02", 4);
  EXPECT_THAT(Refusal(many + jpeg.substr(2)), HasSubstr("more than 1024 segments"));
  EXPECT_THAT(
      Refusal(jpeg.substr(0, 2) + "\xFF\xE5" + std::string("\0\x02", 2) + std::string(70000, 'x') + jpeg.substr(2)),
      HasSubstr("64 KiB outside of segments"));
  std::string png = PngFile(SmoothImage(16, 16, 3));
  png[4] = '\n';
  EXPECT_THAT(Refusal(png), HasSubstr("signature"));
}

TEST(ReadHeader, ChunksBehindThePixelsHaveALimitToo) {
  std::string empty = PngFile(SmoothImage(4, 4, 3));
  empty.resize(empty.size() - 12);
  while (empty.size() < (1 << 20)) empty += PngChunk("eXIf", "");
  EXPECT_THAT(Refusal(empty), HasSubstr("65536 chunks"));
}

}  // namespace
}  // namespace vitrine
