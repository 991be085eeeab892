// SPDX-License-Identifier: Apache-2.0
#include "data/raw_png.h"

#include <spng.h>

#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"

namespace vitrine {

absl::StatusOr<std::string> RawToPng(const Image& image) {
  const std::unique_ptr<spng_ctx, decltype(&spng_ctx_free)> context(spng_ctx_new(SPNG_CTX_ENCODER), spng_ctx_free);
  if (context == nullptr) return absl::ResourceExhaustedError("no memory for a PNG encoder");
  spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1);
  spng_ihdr header = {};
  header.width = image.width;
  header.height = image.height;
  header.bit_depth = 8;
  header.color_type = image.channels == 1 ? SPNG_COLOR_TYPE_GRAYSCALE : SPNG_COLOR_TYPE_TRUECOLOR;
  int error = spng_set_ihdr(context.get(), &header);
  if (error == 0) {
    error =
        spng_encode_image(context.get(), image.pixels.data(), image.pixels.size(), SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE);
  }
  if (error != 0) return absl::InternalError(absl::StrCat("PNG encoder: ", spng_strerror(error)));
  size_t bytes = 0;
  const std::unique_ptr<void, decltype(&std::free)> png(spng_get_png_buffer(context.get(), &bytes, &error), std::free);
  if (png == nullptr) return absl::InternalError(absl::StrCat("PNG encoder: ", spng_strerror(error)));
  return std::string(static_cast<const char*>(png.get()), bytes);
}

}  // namespace vitrine
