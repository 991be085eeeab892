// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/orientation.h"

#include <gtest/gtest.h>
#include <libexif/exif-data.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "common/imaging/decode.h"
#include "tests/common/imaging/images.h"

namespace vitrine {
namespace {

// Returns the image as a camera in this orientation stores it. The formulas of the EXIF standard give the position of
// the stored row r and column c in the upright image.
Image Stored(const Image& upright, int orientation) {
  const bool swapped = orientation >= 5;
  const int rows = swapped ? upright.width : upright.height;
  const int columns = swapped ? upright.height : upright.width;
  Image stored{columns, rows, upright.channels, {}};
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) {
      const int mirrored_r = rows - 1 - r, mirrored_c = columns - 1 - c;
      const int y[] = {r, r, mirrored_r, mirrored_r, c, c, mirrored_c, mirrored_c};
      const int x[] = {c, mirrored_c, mirrored_c, c, r, mirrored_r, mirrored_r, r};
      const size_t from = static_cast<size_t>(y[orientation - 1]) * upright.width + x[orientation - 1];
      for (int i = 0; i < upright.channels; ++i) stored.pixels.push_back(upright.pixels[from * upright.channels + i]);
    }
  }
  return stored;
}

int ByLibexif(std::string_view tiff) {
  const std::string block = std::string("Exif\0\0", 6) + std::string(tiff);
  ExifData* data = exif_data_new_from_data(reinterpret_cast<const unsigned char*>(block.data()),
                                           static_cast<unsigned>(block.size()));
  const ExifEntry* entry = exif_content_get_entry(data->ifd[EXIF_IFD_0], EXIF_TAG_ORIENTATION);
  const int orientation =
      entry == nullptr || entry->size < 2 ? 1 : exif_get_short(entry->data, exif_data_get_byte_order(data));
  exif_data_unref(data);
  return orientation >= 1 && orientation <= 8 ? orientation : 1;
}

// Returns an EXIF block with many tags, as a camera writes it.
std::string WrittenByLibexif(int orientation, ExifByteOrder order) {
  ExifData* data = exif_data_new();
  exif_data_set_option(data, EXIF_DATA_OPTION_FOLLOW_SPECIFICATION);
  exif_data_set_data_type(data, EXIF_DATA_TYPE_COMPRESSED);
  exif_data_set_byte_order(data, order);
  exif_data_fix(data);
  ExifEntry* entry = exif_entry_new();
  exif_content_add_entry(data->ifd[EXIF_IFD_0], entry);
  exif_entry_initialize(entry, EXIF_TAG_ORIENTATION);
  exif_set_short(entry->data, order, static_cast<ExifShort>(orientation));
  exif_entry_unref(entry);
  unsigned char* bytes = nullptr;
  unsigned size = 0;
  exif_data_save_data(data, &bytes, &size);
  const std::string block(reinterpret_cast<char*>(bytes), size);
  std::free(bytes);
  exif_data_unref(data);
  return block.substr(6);  // removes "Exif\0\0"
}

TEST(Orientation, EveryOrientationGivesTheSameUprightImage) {
  for (const int channels : {1, 3}) {
    const Image upright = NoiseImage(70, 41, channels);
    for (int orientation = 1; orientation <= 8; ++orientation) {
      EXPECT_EQ(LargestDifference(Orient(Stored(upright, orientation), orientation), upright), 0) << orientation;
    }
  }
}

TEST(Orientation, IsAppliedByDecode) {
  const Image upright = SmoothImage(48, 30, 3);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool little_endian : {false, true}) {
      const std::string exif = ExifBlock(orientation, little_endian);
      const Image stored = Stored(upright, orientation);
      EXPECT_LE(LargestDifference(*Decode(JpegFile(stored, {.quality = 98, .exif = exif})), upright), 6);
      EXPECT_EQ(LargestDifference(*Decode(PngFile(stored, {.exif = exif})), upright), 0);
    }
  }
}

TEST(ExifOrientation, AgreesWithLibexif) {
  for (int orientation = 0; orientation <= 10; ++orientation) {
    for (const ExifByteOrder order : {EXIF_BYTE_ORDER_INTEL, EXIF_BYTE_ORDER_MOTOROLA}) {
      const std::string block = WrittenByLibexif(orientation, order);
      EXPECT_EQ(OrientationOf(block, ""), ByLibexif(block));
      EXPECT_EQ(OrientationOf(block, ""), orientation >= 1 && orientation <= 8 ? orientation : 1);
    }
  }
}

// The standard allows only the type SHORT, but Pillow accepts all of these types.
TEST(ExifOrientation, AcceptsEveryIntegerType) {
  const std::string block = ExifBlock(6);
  EXPECT_EQ(OrientationOf(std::string("Exif\0\0", 6) + block, ""), 6);
  for (const char type : {'\3', '\4', '\6', '\x8', '\x9', '\xD'}) {
    std::string other = block;
    ASSERT_EQ(other[24], 3);
    other[24] = type;
    EXPECT_EQ(OrientationOf(other, ""), 6) << static_cast<int>(type);
  }
  std::string two = block;
  two[26] = 2;
  EXPECT_EQ(OrientationOf(two, ""), 6) << "the first of two values must count";
  two[26] = 0;
  EXPECT_EQ(OrientationOf(two, ""), 1) << "an entry without values must be ignored";
  std::string swapped = block;
  std::swap(swapped[2], swapped[3]);
  EXPECT_EQ(OrientationOf(swapped, ""), 6) << "some programs swap the bytes of the number 42";
}

TEST(XmpOrientation, IsUsedIfExifHasNone) {
  EXPECT_EQ(OrientationOf("", "<a tiff:Orientation=\"6\"/>"), 6);
  EXPECT_EQ(OrientationOf("", "<tiff:Orientation>8</tiff:Orientation>"), 8);
  EXPECT_EQ(OrientationOf("", "tiff:Orientation tiff:Orientation=\"3\""), 3);
  EXPECT_EQ(OrientationOf("", "tiff:Orientation=\"9\""), 1);
  EXPECT_EQ(OrientationOf("", "tiff:Orientation=\""), 1);
  EXPECT_EQ(OrientationOf(ExifBlock(1), "tiff:Orientation=\"6\""), 1);
}

TEST(ExifOrientation, InvalidBlocksMeanUpright) {
  const std::string block = ExifBlock(6);
  EXPECT_EQ(OrientationOf(block, ""), 6);
  EXPECT_EQ(OrientationOf("", ""), 1);
  EXPECT_EQ(OrientationOf("II*", ""), 1);
  EXPECT_EQ(OrientationOf("XX" + block.substr(2), ""), 1);
  std::string far = block;
  far[4] = far[5] = far[6] = far[7] = '\xFF';
  EXPECT_EQ(OrientationOf(far, ""), 1);
  std::string wrong_type = block;
  wrong_type[24] = 2;
  EXPECT_EQ(OrientationOf(wrong_type, ""), 1);
  // The last entry ends at byte 34. A shorter block is invalid, and its parser must not read beyond its end.
  for (size_t size = 0; size < 34; ++size) {
    const std::unique_ptr<char[]> exact(new char[size]);
    std::copy_n(block.data(), size, exact.get());
    EXPECT_EQ(OrientationOf({exact.get(), size}, ""), 1) << size;
  }
}

}  // namespace
}  // namespace vitrine
