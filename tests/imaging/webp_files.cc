// SPDX-License-Identifier: Apache-2.0
#include "tests/imaging/webp_files.h"

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
  const std::vector<uint8_t>& rgb = image.pixels;
  std::vector<uint8_t> rgba;
  for (size_t i = 0; i < options.alpha.size(); ++i) {
    rgba.insert(rgba.end(), {rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2], options.alpha[i]});
  }
  uint8_t* out = nullptr;
  size_t size = 0;
  const int w = image.width, h = image.height;
  if (rgba.empty()) {
    size = options.lossless ? WebPEncodeLosslessRGB(rgb.data(), w, h, 3 * w, &out)
                            : WebPEncodeRGB(rgb.data(), w, h, 3 * w, options.quality, &out);
  } else {
    size = options.lossless ? WebPEncodeLosslessRGBA(rgba.data(), w, h, 4 * w, &out)
                            : WebPEncodeRGBA(rgba.data(), w, h, 4 * w, options.quality, &out);
  }
  EXPECT_GT(size, 0u);
  std::string file(reinterpret_cast<const char*>(out), size);
  WebPFree(out);
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
