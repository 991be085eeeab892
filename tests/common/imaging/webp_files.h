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

// Options of WebpFile, which writes WebP files with libwebp.
struct WebpOptions {
  float quality = 90;
  bool lossless = false;
  int partitions = 0;               // for lossy: the rows are distributed over 2^partitions parts
  std::vector<uint8_t> alpha = {};  // [height, width]; empty: opaque
  // Content of the EXIF chunk, which follows the pixels, as in files of other encoders. With EXIF the file has an
  // extended header.
  std::optional<std::string> exif = {};
};
// Encodes an RGB image.
std::string WebpFile(const Image& image, const WebpOptions& options = {});

// Returns a chunk with its length. Pads it to an even size.
std::string WebpChunk(std::string_view type, std::string_view content);
// Returns a file with these chunks: "RIFF", length, "WEBP", chunks.
std::string WebpOfChunks(std::string_view chunks);
// Returns the extended header, which is the first chunk of a file.
std::string WebpHeaderChunk(int flags, int width, int height);

}  // namespace vitrine

#endif  // VITRINE_TESTS_COMMON_IMAGING_WEBP_FILES_H_
