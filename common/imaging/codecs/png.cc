// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/codecs/png.h"

#include <spng.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/imaging/codecs/over_white.h"
#include "common/imaging/codecs/png_chunks.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Maximum size of chunks other than pixels. The largest such chunks that reach the decoder, PLTE and tRNS, have at most
// 768 bytes.
constexpr size_t kMostChunkBytes = 4096;

struct FreeContext {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};
using Context = std::unique_ptr<spng_ctx, FreeContext>;

// Selected parts of the file, which ReadParts reads as one stream.
struct Parts {
  std::vector<std::string_view> parts;
  size_t next = 0;
};

int ReadParts(spng_ctx*, void* user, void* out, size_t length) {
  Parts& stream = *static_cast<Parts*>(user);
  uint8_t* to = static_cast<uint8_t*>(out);
  while (length > 0) {
    if (stream.next == stream.parts.size()) return SPNG_IO_EOF;
    std::string_view& part = stream.parts[stream.next];
    const size_t count = std::min(length, part.size());
    std::memcpy(to, part.data(), count);
    to += count;
    length -= count;
    part.remove_prefix(count);
    if (part.empty()) ++stream.next;
  }
  return 0;
}

absl::Status DamagedPng(int error) {
  return absl::InvalidArgumentError(absl::StrCat("the PNG is damaged or cut short: ", spng_strerror(error)));
}

// Returns the upper 8 bits, like Pillow and libpng.
uint8_t To8Bits(uint16_t value) {
  return static_cast<uint8_t>(value >> 8);
}

// Each of the following structs converts one pixel of the decoder to one pixel of the image.
struct Grey16 {
  using In = uint16_t;
  static constexpr int kIn = 1, kOut = 1;
  static void Convert(const In* in, uint8_t* out) { out[0] = To8Bits(in[0]); }
};
struct Rgb16 {
  using In = uint16_t;
  static constexpr int kIn = 3, kOut = 3;
  static void Convert(const In* in, uint8_t* out) {
    for (int c = 0; c < 3; ++c) out[c] = To8Bits(in[c]);
  }
};
template <int kChannels>
struct Rgba8Over {
  using In = uint8_t;
  static constexpr int kIn = 4, kOut = kChannels;
  static void Convert(const In* in, uint8_t* out) {
    for (int c = 0; c < kOut; ++c) out[c] = OverWhite(in[c], in[3]);
  }
};
template <int kChannels>
struct Rgba16Over {
  using In = uint16_t;
  static constexpr int kIn = 4, kOut = kChannels;
  static void Convert(const In* in, uint8_t* out) {
    for (int c = 0; c < kOut; ++c) out[c] = OverWhite(To8Bits(in[c]), To8Bits(in[3]));
  }
};

// Columns of a row that belong to one pass of an interlaced image.
struct Columns {
  int first, step;
};
Columns ColumnsOf(bool interlaced, int pass) {
  constexpr Columns kAdam7[7] = {{0, 8}, {4, 8}, {0, 4}, {2, 4}, {0, 2}, {1, 2}, {0, 1}};
  return interlaced ? kAdam7[pass] : Columns{0, 1};
}

template <typename Pixel>
void ConvertRow(const void* row, Columns columns, int width, uint8_t* out) {
  const auto* in = static_cast<const typename Pixel::In*>(row);
  for (int x = columns.first; x < width; x += columns.step) Pixel::Convert(in + x * Pixel::kIn, out + x * Pixel::kOut);
}

// Conversion of one kind of PNG to an image: the decoder's output format, and the conversion of this output. The common
// kinds have no conversion; they are decoded directly into the image.
struct Plan {
  int format = 0;
  int flags = 0;
  int channels = 0;
  size_t row_bytes_per_pixel = 0;
  void (*convert)(const void* row, Columns columns, int width, uint8_t* out) = nullptr;
  std::optional<std::array<uint8_t, 3>> clear = std::nullopt;  // transparent colour, which ClearRow replaces by white
};

template <typename Pixel>
Plan Converting(int format, int flags) {
  return {.format = format,
          .flags = flags,
          .channels = Pixel::kOut,
          .row_bytes_per_pixel = sizeof(typename Pixel::In) * Pixel::kIn,
          .convert = &ConvertRow<Pixel>};
}

// Sets each pixel of the row that is in `columns` and has the colour `clear` to white.
void ClearRow(const std::array<uint8_t, 3>& clear, Columns columns, int width, uint8_t* row) {
  for (int x = columns.first; x < width; x += columns.step) {
    uint8_t* pixel = row + ptrdiff_t{3} * x;
    if (std::equal(clear.begin(), clear.end(), pixel)) std::fill_n(pixel, 3, uint8_t{255});
  }
}

// Returns the plan for 16-bit RGB. As in Pillow, pixels are compared with the transparent colour after both were
// reduced to 8 bits.
Plan PlanForDeepColour(const spng_trns* trns) {
  Plan plan = Converting<Rgb16>(SPNG_FMT_PNG, 0);
  if (trns != nullptr) plan.clear = {To8Bits(trns->red), To8Bits(trns->green), To8Bits(trns->blue)};
  return plan;
}

// Returns the plan for a file. `trns` is the file's transparency chunk (tRNS); null if the file has none.
Plan PlanFor(const spng_ihdr& header, const spng_trns* trns) {
  const bool grey = header.color_type == SPNG_COLOR_TYPE_GRAYSCALE ||  //
                    header.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA;
  const bool alpha = trns != nullptr || header.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA ||
                     header.color_type == SPNG_COLOR_TYPE_TRUECOLOR_ALPHA;
  const bool deep = header.bit_depth == 16;
  if (deep && header.color_type == SPNG_COLOR_TYPE_TRUECOLOR) return PlanForDeepColour(trns);
  if (alpha && deep) {
    // 16-bit grey with alpha gets three channels, like in Pillow, which converts it to RGBA.
    return header.color_type == SPNG_COLOR_TYPE_GRAYSCALE
               ? Converting<Rgba16Over<1>>(SPNG_FMT_RGBA16, SPNG_DECODE_TRNS)
               : Converting<Rgba16Over<3>>(SPNG_FMT_RGBA16, SPNG_DECODE_TRNS);
  }
  if (alpha) {
    return grey ? Converting<Rgba8Over<1>>(SPNG_FMT_RGBA8, SPNG_DECODE_TRNS)
                : Converting<Rgba8Over<3>>(SPNG_FMT_RGBA8, SPNG_DECODE_TRNS);
  }
  if (deep) return Converting<Grey16>(SPNG_FMT_PNG, 0);
  if (grey) return {.format = SPNG_FMT_G8, .channels = 1};
  return {.format = SPNG_FMT_RGB8, .channels = 3};
}

absl::Status DecodeRows(spng_ctx* context, bool interlaced, const Plan& plan, Image& image) {
  if (int error = spng_decode_image(context, nullptr, 0, plan.format, plan.flags | SPNG_DECODE_PROGRESSIVE)) {
    return DamagedPng(error);
  }
  const size_t stride = static_cast<size_t>(image.width) * image.channels;
  std::vector<uint8_t> scratch(plan.row_bytes_per_pixel * image.width);
  for (int error = 0; error != SPNG_EOI;) {
    spng_row_info row = {};
    error = spng_get_row_info(context, &row);
    if (error == SPNG_EOI) break;  // in a small interlaced image the last passes are empty
    if (error != 0) return DamagedPng(error);
    uint8_t* out = image.pixels.data() + row.row_num * stride;
    error = plan.convert == nullptr ? spng_decode_row(context, out, stride)
                                    : spng_decode_row(context, scratch.data(), scratch.size());
    if (error != 0 && error != SPNG_EOI) return DamagedPng(error);
    const Columns columns = ColumnsOf(interlaced, row.pass);
    if (plan.convert != nullptr) plan.convert(scratch.data(), columns, image.width, out);
    if (plan.clear) ClearRow(*plan.clear, columns, image.width, out);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Image> DecodePng(std::string_view bytes, const ImageHeader& header) {
  Parts stream;
  ASSIGN_OR_RETURN(stream.parts, SelectPngPixels(bytes));
  Context context(spng_ctx_new(0));
  if (context == nullptr) return absl::ResourceExhaustedError("no memory for a PNG decoder");
  spng_set_crc_action(context.get(), SPNG_CRC_USE, SPNG_CRC_USE);  // SelectPngPixels has verified the checksums
  spng_set_chunk_limits(context.get(), kMostChunkBytes, kMostChunkBytes);
  if (int error = spng_set_png_stream(context.get(), ReadParts, &stream)) return DamagedPng(error);
  spng_ihdr ihdr = {};
  if (int error = spng_get_ihdr(context.get(), &ihdr)) return DamagedPng(error);
  if (ihdr.width != static_cast<uint32_t>(header.stored_width) ||
      ihdr.height != static_cast<uint32_t>(header.stored_height)) {
    return absl::InvalidArgumentError("the PNG is damaged: its headers contradict each other about its size");
  }
  spng_trns trns = {};
  const int trns_error = spng_get_trns(context.get(), &trns);
  if (trns_error != 0 && trns_error != SPNG_ECHUNKAVAIL) return DamagedPng(trns_error);
  const Plan plan = PlanFor(ihdr, trns_error == 0 ? &trns : nullptr);
  Image image;
  image.width = header.stored_width;
  image.height = header.stored_height;
  image.channels = plan.channels;
  image.pixels.resize(static_cast<size_t>(image.width) * image.height * image.channels);
  RETURN_IF_ERROR(DecodeRows(context.get(), ihdr.interlace_method != 0, plan, image));
  return image;
}

}  // namespace vitrine
