// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/encode/encode_png.h"

#include <spng.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Compression level of zlib. This level is twice as fast as zlib's default level, and the files are a few percent
// larger.
constexpr int kCompressionLevel = 4;

struct FreeContext {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};
struct FreeBuffer {
  void operator()(void* buffer) const { std::free(buffer); }
};

// Height of the sampled bands of rows, and distance between their starts. Rows of a band are adjacent, because each row
// is compressed relative to the row above.
constexpr int kBandRows = 8, kBandsApart = 64;

absl::Status SpngError(int code) {
  return absl::InternalError(absl::StrCat("cannot write a PNG: ", spng_strerror(code)));
}

}  // namespace

absl::StatusOr<std::string> EncodePng(const Image& image) {
  const bool sane = image.width > 0 && image.height > 0 && (image.channels == 1 || image.channels == 3);
  if (!sane || image.pixels.size() != static_cast<size_t>(image.width) * image.height * image.channels) {
    return absl::InvalidArgumentError(absl::StrCat("an image of ", image.width, "x", image.height, " pixels and ",
                                                   image.channels, " channels cannot have ", image.pixels.size(),
                                                   " bytes"));
  }
  const std::unique_ptr<spng_ctx, FreeContext> context(spng_ctx_new(SPNG_CTX_ENCODER));
  if (context == nullptr) return SpngError(SPNG_EMEM);
  spng_ihdr header = {};
  header.width = static_cast<uint32_t>(image.width);
  header.height = static_cast<uint32_t>(image.height);
  header.bit_depth = 8;
  header.color_type = image.channels == 1 ? SPNG_COLOR_TYPE_GRAYSCALE : SPNG_COLOR_TYPE_TRUECOLOR;
  int code = spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1);
  if (code == 0) code = spng_set_option(context.get(), SPNG_IMG_COMPRESSION_LEVEL, kCompressionLevel);
  if (code == 0) code = spng_set_ihdr(context.get(), &header);
  if (code == 0) {
    code =
        spng_encode_image(context.get(), image.pixels.data(), image.pixels.size(), SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE);
  }
  if (code != 0) return SpngError(code);
  size_t size = 0;
  const std::unique_ptr<void, FreeBuffer> buffer(spng_get_png_buffer(context.get(), &size, &code));
  if (buffer == nullptr) return SpngError(code);
  return std::string(static_cast<const char*>(buffer.get()), size);
}

absl::StatusOr<int64_t> EstimatePngBytes(const Image& image) {
  const int bands = image.height / kBandsApart;
  const size_t row = static_cast<size_t>(image.width) * image.channels;
  if (bands < 2 || image.pixels.size() != row * image.height) {
    ASSIGN_OR_RETURN(const std::string whole, EncodePng(image));
    return static_cast<int64_t>(whole.size());
  }
  Image sample{.width = image.width, .height = bands * kBandRows, .channels = image.channels, .pixels = {}};
  for (int band = 0; band < bands; ++band) {
    const auto first = image.pixels.begin() + static_cast<ptrdiff_t>(row * (band * kBandsApart + kBandsApart / 2));
    sample.pixels.insert(sample.pixels.end(), first, first + static_cast<ptrdiff_t>(row * kBandRows));
  }
  ASSIGN_OR_RETURN(const std::string part, EncodePng(sample));
  return static_cast<int64_t>(part.size()) * image.height / sample.height;
}

}  // namespace vitrine
