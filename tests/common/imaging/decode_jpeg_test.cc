// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>

#include "common/imaging/decode.h"
#include "common/imaging/header.h"
#include "tests/common/imaging/images.h"

namespace vitrine {
namespace {

// Replaces the marker of the frame header. Returns the position of the header's content, which starts with the
// precision.
size_t FrameContent(std::string& jpeg, char marker = '\xC0') {
  for (const char* frame : {"\xFF\xC0", "\xFF\xC2"}) {
    const size_t at = jpeg.find(frame);
    if (at == std::string::npos) continue;
    jpeg[at + 1] = marker;
    return at + 4;
  }
  ADD_FAILURE() << "the test's image has no frame header";
  return 0;
}

TEST(DecodeJpeg, KeepsGreyImagesAndTheOrderOfColours) {
  for (const int channels : {1, 3}) {
    const Image image = SmoothImage(61, 43, channels);
    const absl::StatusOr<Image> decoded = Decode(JpegFile(image));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(decoded->channels, channels);
    EXPECT_LE(LargestDifference(image, *decoded), 6);
  }
}

TEST(DecodeJpeg, ProgressiveSubsampledAndRestartingFilesShowTheSameImage) {
  const Image image = SmoothImage(70, 50, 3);
  const Image baseline = *Decode(JpegFile(image));
  EXPECT_EQ(LargestDifference(baseline, *Decode(JpegFile(image, {.progressive = true}))), 0);
  EXPECT_EQ(LargestDifference(baseline, *Decode(JpegFile(image, {.restart_rows = 1}))), 0);
  EXPECT_LE(LargestDifference(image, *Decode(JpegFile(image, {.subsample = true}))), 10);
}

TEST(DecodeJpeg, DecodesSinglePixelsRowsAndColumns) {
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 200}, {200, 1}, {8192, 1}, {1, 8192}}) {
    const Image image = PlainImage(width, height, {200, 100, 50});
    const absl::StatusOr<Image> decoded = Decode(JpegFile(image, {.subsample = true}));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_LE(LargestDifference(image, *decoded), 3);
  }
}

TEST(DecodeJpeg, AdobeCmykIsInverted) {
  const Image stored = PlainImage(16, 16, {200, 100, 50});
  for (const bool ycck : {false, true}) {
    const Image full = *Decode(JpegFile(stored, {.cmyk = true, .key = 255, .ycck = ycck}));
    EXPECT_LE(LargestDifference(full, stored), 3);
    const Image half = *Decode(JpegFile(stored, {.cmyk = true, .key = 128, .ycck = ycck}));
    EXPECT_LE(LargestDifference(half, PlainImage(16, 16, {100, 50, 25})), 3);
  }
}

TEST(DecodeJpeg, CmykIsInvertedWithoutAdobesMarker) {
  const Image stored = NoiseImage(16, 16, 3);
  for (const int key : {255, 128}) {
    EXPECT_EQ(LargestDifference(*Decode(JpegFile(stored, {.cmyk = true, .key = key, .adobe = false})),
                                *Decode(JpegFile(stored, {.cmyk = true, .key = key}))),
              0);
  }
}

// libjpeg-turbo accepts components with equal ids.
TEST(DecodeJpeg, ComponentIdsMayRepeat) {
  const std::string file = JpegFile(SmoothImage(32, 32, 3));
  const Image expected = *Decode(file);
  for (const std::string& ids : {std::string("\1\1\1"), std::string("\0\0\7", 3), std::string("\2\1\2")}) {
    std::string other = file;
    const size_t frame = FrameContent(other), scan = other.find("\xFF\xDA");
    for (size_t i = 0; i < 3; ++i) {
      other[frame + 6 + 3 * i] = ids[i];
      other[scan + 5 + 2 * i] = ids[i];
    }
    const absl::StatusOr<Image> image = Decode(other);
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(LargestDifference(*image, expected), 0);
  }
}

TEST(DecodeJpeg, AMissingEndMarkerIsDistinguishedFromATruncatedFile) {
  const Image image = SmoothImage(64, 64, 3);
  const JpegOptions kinds[] = {{}, {.progressive = true}, {.restart_rows = 1}};
  for (const JpegOptions& options : kinds) {
    const std::string file = JpegFile(image, options);
    const std::string unended = file.substr(0, file.size() - 2);
    for (const std::string& end : {std::string(), std::string("\xFF"), std::string("\0\0\0", 3)}) {
      ExpectRefused(unended + end, "its end marker (EOI) is missing, but all of its pixels are present; save it again");
    }
    const size_t scan = file.rfind("\xFF\xDA");
    const std::string half = file.substr(0, scan + (file.size() - scan) / 2);
    ExpectRefused(half, "send the whole file");
  }
  const std::string plain = JpegFile(image);
  ExpectRefused(plain.substr(0, plain.size() - 80), "its pixels end in scan 1 near row 56 of 64; send the whole file");
}

TEST(DecodeJpeg, AProgressiveFileWithoutItsLastScansIsTruncated) {
  const std::string file = JpegFile(SmoothImage(64, 64, 3), {.progressive = true});
  const size_t last = file.rfind("\xFF\xDA");
  const size_t tables = file.rfind("\xFF\xC4");  // the Huffman tables of the last scan, if they are directly before it
  ExpectRefused(file.substr(0, std::min(last, tables)), "its last scans are missing");
}

TEST(DecodeJpeg, DamageIsNamedByItsSegment) {
  const std::string file = JpegFile(SmoothImage(16, 16, 3), {.exif = ExifBlock(6)});
  ExpectRefused(file.substr(0, file.find("\xFF\xE1") + 12), "it ends within its APP1 segment");
  ExpectRefused(file.substr(0, file.find("\xFF\xDB") + 12), "it ends within its DQT segment");
}

TEST(DecodeJpeg, StrayBytesBeforeAMarkerAndDataAfterTheEndAreAccepted) {
  const Image image = SmoothImage(32, 32, 3);
  const std::string file = JpegFile(image);
  const Image expected = *Decode(file);
  EXPECT_EQ(LargestDifference(*Decode(file + std::string(1000, 'x')), expected), 0);
  std::string stray = file;
  stray.insert(2, "stray");
  EXPECT_EQ(LargestDifference(*Decode(stray), expected), 0);
  std::string before_end = file;
  before_end.insert(file.size() - 2, "stray");
  EXPECT_EQ(LargestDifference(*Decode(before_end), expected), 0);
}

TEST(DecodeJpeg, UnsupportedKindsAreNamed) {
  const std::string file = JpegFile(SmoothImage(16, 16, 3));
  for (const auto& [marker, reason] : {std::pair{'\xC3', "lossless JPEG"},
                                       {'\xC5', "hierarchical JPEG"},
                                       {'\xC9', "arithmetic-coded JPEG"},
                                       {'\xCA', "arithmetic-coded JPEG"},
                                       {'\xCB', "lossless arithmetic-coded JPEG"}}) {
    std::string other = file;
    FrameContent(other, marker);
    ExpectRefused(other, reason);
  }
  std::string deep = file;
  deep[FrameContent(deep)] = 12;
  ExpectRefused(deep, "12 bits per sample");
  std::string two = file;
  two[FrameContent(two) + 5] = 2;
  ExpectRefused(two, "2 colour components");
  std::string flat = file;
  const size_t frame = FrameContent(flat);
  flat[frame + 1] = flat[frame + 2] = 0;
  ExpectRefused(flat, "no height");
}

TEST(DecodeJpeg, DamageInTheEntropyCodedDataIsRefused) {
  std::string file = JpegFile(NoiseImage(64, 64, 3), {.restart_rows = 1});
  std::string no_restart = file;
  const size_t restart = no_restart.find("\xFF\xD1");
  ASSERT_NE(restart, std::string::npos);
  no_restart.erase(restart, 2);
  ExpectRefused(no_restart, "in scan 1 near row");
  // A long sequence of ones is not a Huffman code.
  std::string ones = file;
  const size_t scan = ones.find("\xFF\xDA");
  for (size_t i = scan + 40; i < scan + 80; i += 2) ones.replace(i, 2, std::string("\xFF\x00", 2));
  ExpectRefused(ones, "damaged");
}

TEST(DecodeJpeg, AMissingComponentIsRefused) {
  std::string file = JpegFile(SmoothImage(32, 32, 3), {.scans = 1});
  const size_t scan = file.find("\xFF\xDA");
  ASSERT_NE(scan, std::string::npos);
  ASSERT_EQ(file[scan + 4], 3);
  // The file has the first component twice and no second component.
  file[scan + 7] = file[scan + 5];
  ExpectRefused(file, "damaged");
}

// The first scan is damaged, so decoding this scan would give another error.
TEST(DecodeJpeg, AScanBombIsRefusedBeforeItIsDecoded) {
  const auto damaged = [](int scans) {
    std::string file = JpegFile(NoiseImage(64, 64, 3), {.scans = scans});
    const size_t scan = file.find("\xFF\xDA");
    for (size_t i = scan + 40; i < scan + 80; i += 2) file.replace(i, 2, std::string("\xFF\x00", 2));
    return file;
  };
  ExpectRefused(damaged(101), "the JPEG has more than 100 scans");
  ExpectRefused(damaged(100), "damaged");
}

TEST(DecodeJpeg, ThreadsDoNotAffectEachOther) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      const Image image = SmoothImage(40 + i, 30 + 3 * i, i % 2 == 0 ? 3 : 1);
      const std::string file = JpegFile(image);
      const std::string cut = file.substr(0, file.size() / 2);
      for (int round = 0; round < 50; ++round) {
        EXPECT_LE(LargestDifference(*Decode(file), image), 6);
        EXPECT_FALSE(Decode(cut).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace vitrine
