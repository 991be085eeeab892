// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_COMMON_IMAGING_IMAGES_H_
#define VITRINE_TESTS_COMMON_IMAGING_IMAGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/imaging/image.h"

namespace vitrine {

// Images and files for tests, written with libjpeg and libspng themselves.

// A smooth image without symmetry, so that JPEG keeps it well and every orientation of it differs.
Image SmoothImage(int width, int height, int channels);
// Returns an image whose pixels come from an integer hash.
Image NoiseImage(int width, int height, int channels, uint32_t seed = 1);
Image PlainImage(int width, int height, std::vector<uint8_t> colour);

// The TIFF structure of an EXIF block that states the orientation only.
std::string ExifBlock(int orientation, bool little_endian = true);

struct JpegOptions {
  int quality = 95;
  bool progressive = false;
  bool subsample = false;  // 4:2:0, unless the factors below are set
  int across = 0;          // sampling factors of the first component relative to the others
  int down = 0;
  int restart_rows = 0;  // MCU rows between restart markers
  std::optional<std::string> exif = {};
  int scans = 0;      // if positive: a progressive file with this number of scans
  bool cmyk = false;  // four components, of which `image` gives the first three, as stored
  int key = 255;      // CMYK only: the fourth component, as stored
  bool adobe = true;  // CMYK only: write Adobe's marker
  bool ycck = false;  // CMYK only
};
std::string JpegFile(const Image& image, const JpegOptions& options = {});

struct PngOptions {
  int color_type = -1;  // -1: grey or RGB as the image; otherwise `samples` are written as they are
  int bit_depth = 8;
  bool interlaced = false;
  std::vector<uint8_t> palette = {};  // RGB triples
  std::vector<uint8_t> palette_alpha = {};
  std::vector<uint16_t> transparent = {};  // grey, or red, green, blue
  std::optional<std::string> exif = {};
};
// `samples` are in host byte order, packed for depths below 8.
std::string PngFile(int width, int height, const std::vector<uint8_t>& samples, const PngOptions& options);
std::string PngFile(const Image& image, PngOptions options = {});

// A PNG chunk with its checksum.
std::string PngChunk(std::string_view type, std::string_view content);

// The largest difference between two images of the same size; 256 if the sizes differ.
int LargestDifference(const Image& a, const Image& b);

// Decode refuses the file as invalid, with this reason.
void ExpectRefused(const std::string& file, const char* reason);

}  // namespace vitrine

#endif  // VITRINE_TESTS_COMMON_IMAGING_IMAGES_H_
