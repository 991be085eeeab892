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

// WebP files for tests, written with libwebp.
struct WebpOptions {
  float quality = 90;
  bool lossless = false;
  int partitions = 0;               // for lossy: the rows are distributed over 2^partitions parts
  std::vector<uint8_t> alpha = {};  // [height, width]; empty: opaque
  // Content of an EXIF chunk after the pixels, where encoders write it. Makes the file an extended one.
  std::optional<std::string> exif = {};
};
// Encodes an RGB image.
std::string WebpFile(const Image& image, const WebpOptions& options = {});

// Returns a chunk with its length, padded to an even size.
std::string WebpChunk(std::string_view type, std::string_view content);
// Returns a file of these chunks after RIFF, length and WEBP.
std::string WebpOfChunks(std::string_view chunks);
// Returns the first chunk of an extended file.
std::string WebpHeaderChunk(int flags, int width, int height);

}  // namespace vitrine

#endif  // VITRINE_TESTS_COMMON_IMAGING_WEBP_FILES_H_
