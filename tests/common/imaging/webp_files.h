// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_COMMON_IMAGING_WEBP_FILES_H_
#define VITRINE_TESTS_COMMON_IMAGING_WEBP_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/imaging/image.h"

namespace vitrine {

// WebP files for tests, written with libwebp itself.
struct WebpOptions {
  float quality = 90;
  bool lossless = false;
  int partitions = 0;               // lossy: the pixels' bytes in 2^partitions parts, rows in turn
  std::vector<uint8_t> alpha = {};  // [height, width]; none: opaque
  // EXIF chunk, written after the pixels as encoders do; makes the file an extended one.
  std::optional<std::string> exif = {};
};
// Encodes an RGB image.
std::string WebpFile(const Image& image, const WebpOptions& options = {});

// A chunk with its length, padded to even.
std::string WebpChunk(std::string_view type, std::string_view content);
// Returns a file of these chunks: RIFF, length, WEBP, chunks.
std::string WebpOfChunks(std::string_view chunks);
// The chunk with which an extended file begins.
std::string WebpHeaderChunk(int flags, int width, int height);

}  // namespace vitrine

#endif  // VITRINE_TESTS_COMMON_IMAGING_WEBP_FILES_H_
