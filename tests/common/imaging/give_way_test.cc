// SPDX-License-Identifier: Apache-2.0
// Tests that long operations call GiveWay regularly, so that the thread can yield.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/imaging/decode.h"
#include "common/imaging/encode/encode_png.h"
#include "common/imaging/resize.h"
#include "tests/common/imaging/images.h"
#include "tests/common/imaging/webp_files.h"
#include "tests/watched_way.h"

namespace vitrine {
namespace {

constexpr int kSide = 1024;

// Returns the number of calls of GiveWay in `work`. Expects that the time between two calls is less than a third of the
// total time.
int CallsOf(const std::string& name, const std::function<void()>& work) {
  const GaveWay gave = HowItGivesWay(work);
  EXPECT_LT(gave.longest_share, 1.0 / 3) << name;
  return gave.calls;
}

int CallsOfDecoding(const std::string& name, const std::string& file, int divisor = 1) {
  return CallsOf(name, [&] { EXPECT_TRUE(DecodeReduced(file, divisor).ok()) << name; });
}

TEST(GiveWay, DecodingCallsGiveWay) {
  const Image image = NoiseImage(kSide, kSide, 3);
  const std::vector<uint8_t> alpha = NoiseImage(kSide, kSide, 1).pixels;
  EXPECT_GE(CallsOfDecoding("png", PngFile(image)), kSide);
  EXPECT_GE(CallsOfDecoding("jpeg", JpegFile(image)), kSide);
  EXPECT_GE(CallsOfDecoding("webp", WebpFile(image)), kSide * kSide >> 15);
  EXPECT_GE(CallsOfDecoding("lossless webp", WebpFile(image, {.lossless = true})), kSide * kSide >> 17);
  EXPECT_GE(CallsOfDecoding("webp with alpha", WebpFile(image, {.alpha = alpha})), kSide + (kSide * kSide >> 15));
}

// The decoder reads all scans before it decodes the first row. It must call GiveWay also while it reads the scans.
TEST(GiveWay, ReadingTheScansOfAProgressiveJpegCallsGiveWay) {
  const Image image = NoiseImage(kSide, kSide, 3);
  const int of_rows = CallsOfDecoding("baseline", JpegFile(image));
  EXPECT_GE(CallsOfDecoding("progressive", JpegFile(image, {.scans = 10})), of_rows + 10 * kSide / 16);
}

TEST(GiveWay, RotatingAndReducingCallGiveWay) {
  const Image image = NoiseImage(kSide, kSide, 3);
  const int of_rows = CallsOfDecoding("as stored", PngFile(image));
  EXPECT_GE(CallsOfDecoding("turned", PngFile(image, {.exif = ExifBlock(6)})), of_rows + kSide / 32);
  EXPECT_GE(CallsOfDecoding("reduced", PngFile(image), 2), of_rows + kSide / 2);
}

TEST(GiveWay, ResizingAndCompressingCallGiveWay) {
  const Image image = NoiseImage(kSide, kSide, 3);
  EXPECT_EQ(CallsOf("resize", [&] { ResizeForDisplay(image, {300, 200}, v1::BILINEAR); }), 300);
  EXPECT_GE(CallsOf("png", [&] { EXPECT_TRUE(EncodePng(image).ok()); }), kSide);
  EXPECT_GE(CallsOf("estimate", [&] { EXPECT_TRUE(EstimatePngBytes(image).ok()); }), kSide / 8);
}

}  // namespace
}  // namespace vitrine
