// SPDX-License-Identifier: Apache-2.0
#include "tests/common/imaging/webp_files.h"

#include <gtest/gtest.h>
#include <webp/encode.h>

namespace vitrine {
namespace {

constexpr size_t kRiffHeaderBytes = 12;
constexpr int kExifFlag = 0x08, kAlphaFlag = 0x10;

std::string Lowest(uint32_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> 8 * i));
  return out;
}

std::string EncodeWebp(const Image& image, const WebpOptions& options) {
  std::vector<uint8_t> rgba;
  for (size_t i = 0; i < options.alpha.size(); ++i) {
    rgba.insert(rgba.end(), &image.pixels[3 * i], &image.pixels[3 * i] + 3);
    rgba.push_back(options.alpha[i]);
  }
  WebPConfig config;
  EXPECT_TRUE(WebPConfigInit(&config));
  config.quality = options.lossless ? 70 : options.quality;
  config.lossless = options.lossless;
  config.partitions = options.partitions;
  config.method = 1;  // a fast compression method
  WebPPicture webp;
  EXPECT_TRUE(WebPPictureInit(&webp));
  webp.width = image.width;
  webp.height = image.height;
  webp.use_argb = options.lossless;
  WebPMemoryWriter writer;
  WebPMemoryWriterInit(&writer);
  webp.writer = WebPMemoryWrite;
  webp.custom_ptr = &writer;
  EXPECT_TRUE(rgba.empty() ? WebPPictureImportRGB(&webp, image.pixels.data(), 3 * image.width)
                           : WebPPictureImportRGBA(&webp, rgba.data(), 4 * image.width));
  EXPECT_TRUE(WebPEncode(&config, &webp));
  std::string file(reinterpret_cast<const char*>(writer.mem), writer.size);
  WebPPictureFree(&webp);
  WebPMemoryWriterClear(&writer);
  return file;
}

}  // namespace

std::string WebpChunk(std::string_view type, std::string_view content) {
  std::string chunk = std::string(type) + Lowest(static_cast<uint32_t>(content.size()), 4) + std::string(content);
  if (content.size() % 2 == 1) chunk.push_back('\0');
  return chunk;
}

std::string WebpOfChunks(std::string_view chunks) {
  return "RIFF" + Lowest(static_cast<uint32_t>(chunks.size() + 4), 4) + "WEBP" + std::string(chunks);
}

std::string WebpHeaderChunk(int flags, int width, int height) {
  return WebpChunk("VP8X", Lowest(static_cast<uint32_t>(flags), 4) + Lowest(static_cast<uint32_t>(width - 1), 3) +
                               Lowest(static_cast<uint32_t>(height - 1), 3));
}

std::string WebpFile(const Image& image, const WebpOptions& options) {
  const std::string file = EncodeWebp(image, options);
  if (!options.exif) return file;
  std::string chunks = file.substr(kRiffHeaderBytes);
  if (chunks.substr(0, 4) == "VP8X") chunks = chunks.substr(WebpHeaderChunk(0, 1, 1).size());
  const int flags = kExifFlag | (options.alpha.empty() ? 0 : kAlphaFlag);
  return WebpOfChunks(WebpHeaderChunk(flags, image.width, image.height) + chunks + WebpChunk("EXIF", *options.exif));
}

}  // namespace vitrine
