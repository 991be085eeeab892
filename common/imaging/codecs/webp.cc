// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/codecs/webp.h"

#include <webp/decode.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/imaging/codecs/over_white.h"
#include "common/imaging/codecs/webp_chunks.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

absl::Status WebpFault(VP8StatusCode code) {
  switch (code) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return absl::ResourceExhaustedError("no memory for a WebP decoder");
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      return absl::InvalidArgumentError("the WebP is damaged or cut short: its pixels end early");
    default:
      return absl::InvalidArgumentError("the WebP is damaged or cut short: its pixels cannot be decoded");
  }
}

// Converts [height, width, 4] to [height, width, 3], composited over white.
void OverWhiteInPlace(std::vector<uint8_t>& pixels) {
  const size_t count = pixels.size() / 4;
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* in = &pixels[4 * i];
    const uint8_t colour[3] = {in[0], in[1], in[2]};
    const uint32_t alpha = in[3];
    for (size_t c = 0; c < 3; ++c) pixels[3 * i + c] = OverWhite(colour[c], alpha);
  }
  pixels.resize(3 * count);
}

}  // namespace

absl::StatusOr<Image> DecodeWebp(std::string_view bytes, const ImageHeader& header) {
  RETURN_IF_ERROR(CheckWebpIsWhole(bytes));
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) return absl::InternalError("libwebp is of another version than its headers");
  if (const VP8StatusCode code = WebPGetFeatures(data, bytes.size(), &config.input); code != VP8_STATUS_OK) {
    return WebpFault(code);
  }
  if (config.input.width != header.stored_width || config.input.height != header.stored_height) {
    return absl::InvalidArgumentError("the WebP is damaged: its headers contradict each other about its size");
  }
  const bool alpha = config.input.has_alpha != 0;
  const size_t stride = static_cast<size_t>(header.stored_width) * (alpha ? 4 : 3);
  Image image{header.stored_width, header.stored_height, 3, {}};
  image.pixels.resize(stride * header.stored_height);
  config.output.colorspace = alpha ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {image.pixels.data(), static_cast<int>(stride), image.pixels.size()};
  const VP8StatusCode code = WebPDecode(data, bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (code != VP8_STATUS_OK) return WebpFault(code);
  if (alpha) OverWhiteInPlace(image.pixels);
  return image;
}

}  // namespace vitrine
