// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_IMAGE_H_
#define VITRINE_COMMON_IMAGING_IMAGE_H_

#include <cstdint>
#include <vector>

namespace vitrine {

// A decoded image after its EXIF orientation is applied. Pixels are interleaved, row-major, 8 bits per channel:
// [height, width, channels]; channels is 1 (grey) or 3 (RGB).
struct Image {
  int width = 0;
  int height = 0;
  int channels = 0;
  std::vector<uint8_t> pixels;
};

// Rows [top, bottom) and columns [left, right) of an image.
struct ImagePart {
  int top = 0;
  int bottom = 0;
  int left = 0;
  int right = 0;
};

// Limits on an image, checked before decoding.
struct ImageLimits {
  // Maximum width times height. 16 * 2^20 allows 4096 x 4096 and rejects a 17-megapixel photograph.
  int64_t max_pixels = 16 << 20;
  // Maximum width and maximum height.
  int max_side = 8192;
  // Maximum number of scans of a progressive JPEG. Encoders write about ten; a thousand would take seconds to decode.
  int max_scans = 100;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_IMAGE_H_
