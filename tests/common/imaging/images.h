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

// Images and files for tests. libjpeg and libspng write the files.

// Returns a smooth image without symmetry. JPEG preserves it well, and all its orientations differ.
Image SmoothImage(int width, int height, int channels);
// Returns an image of pseudo-random pixels.
Image NoiseImage(int width, int height, int channels, uint32_t seed = 1);
Image PlainImage(int width, int height, std::vector<uint8_t> colour);

// Returns the TIFF structure of an EXIF block with only an orientation.
std::string ExifBlock(int orientation, bool little_endian = true);

struct JpegOptions {
  int quality = 95;
  bool progressive = false;
  bool subsample = false;  // true: 4:2:0 if `across` and `down` are not set
  int across = 0;          // sampling factors of the first component; the other components have 1
  int down = 0;
  int restart_rows = 0;  // number of MCU rows between restart markers
  std::optional<std::string> exif = {};
  int scans = 0;      // above 0: a progressive file with this number of scans
  bool cmyk = false;  // true: stores four components, of which the first three are those of `image`
  int key = 255;      // for CMYK: value of the fourth component, as stored
  bool adobe = true;  // for CMYK: true writes Adobe's marker
  bool ycck = false;  // for CMYK: true converts to YCCK
};
std::string JpegFile(const Image& image, const JpegOptions& options = {});

struct PngOptions {
  int color_type = -1;  // -1: grey or RGB like the image; other values: `samples` are written unchanged
  int bit_depth = 8;
  bool interlaced = false;
  std::vector<uint8_t> palette = {};  // RGB triples
  std::vector<uint8_t> palette_alpha = {};
  std::vector<uint16_t> transparent = {};  // transparent colour: a grey value, or red, green and blue
  std::optional<std::string> exif = {};
};
// Encodes `samples` as a PNG file. Samples of 16 bits are in host byte order. Samples of less than 8 bits are packed
// into bytes.
std::string PngFile(int width, int height, const std::vector<uint8_t>& samples, const PngOptions& options);
std::string PngFile(const Image& image, PngOptions options = {});

// Returns a PNG chunk with its checksum.
std::string PngChunk(std::string_view type, std::string_view content);

// Returns the largest difference between two images of equal size; 256 if the sizes differ.
int LargestDifference(const Image& a, const Image& b);

// Expects that Decode returns INVALID_ARGUMENT for the file, with this reason.
void ExpectRefused(const std::string& file, const char* reason);

}  // namespace vitrine

#endif  // VITRINE_TESTS_COMMON_IMAGING_IMAGES_H_
