// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/encode/encode_jpeg.h"

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
// jpeglib.h needs size_t and FILE.
#include <jpeglib.h>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

// libjpeg reports errors by a callback that must not return. The callback longjmps over libjpeg's frames. These frames
// and the function that calls setjmp have no objects with a destructor.
struct Encoder {
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
  unsigned char* bytes;
  unsigned long size;  // NOLINT: libjpeg's type
};

[[noreturn]] void Escape(j_common_ptr jpeg) {
  Encoder& encoder = *static_cast<Encoder*>(jpeg->client_data);
  (*jpeg->err->format_message)(jpeg, encoder.message);
  std::longjmp(encoder.escape, 1);
}

void OnMessage(j_common_ptr, int) {}

// Returns false and sets encoder.message on failure.
bool Encode(Encoder& encoder, const Image& image, int quality) {
  encoder.jpeg.err = jpeg_std_error(&encoder.errors);
  encoder.errors.error_exit = Escape;
  encoder.errors.emit_message = OnMessage;
  encoder.jpeg.client_data = &encoder;
  if (setjmp(encoder.escape)) return false;
  jpeg_create_compress(&encoder.jpeg);
  jpeg_mem_dest(&encoder.jpeg, &encoder.bytes, &encoder.size);
  encoder.jpeg.image_width = static_cast<JDIMENSION>(image.width);
  encoder.jpeg.image_height = static_cast<JDIMENSION>(image.height);
  encoder.jpeg.input_components = image.channels;
  encoder.jpeg.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&encoder.jpeg);
  jpeg_set_quality(&encoder.jpeg, quality, TRUE);
  jpeg_start_compress(&encoder.jpeg, TRUE);
  const size_t row = static_cast<size_t>(image.width) * static_cast<size_t>(image.channels);
  while (encoder.jpeg.next_scanline < encoder.jpeg.image_height) {
    JSAMPROW line = const_cast<JSAMPROW>(image.pixels.data() + encoder.jpeg.next_scanline * row);
    jpeg_write_scanlines(&encoder.jpeg, &line, 1);
  }
  jpeg_finish_compress(&encoder.jpeg);
  return true;
}

}  // namespace

absl::StatusOr<std::string> EncodeJpeg(const Image& image, int quality) {
  const int64_t values = int64_t{image.width} * image.height * image.channels;
  if (image.width < 1 || image.height < 1 || (image.channels != 1 && image.channels != 3) ||
      values != static_cast<int64_t>(image.pixels.size())) {
    return absl::InvalidArgumentError(absl::StrCat("an image of ", image.width, "x", image.height, " with ",
                                                   image.channels, " channels and ", image.pixels.size(),
                                                   " bytes cannot become a JPEG"));
  }
  Encoder encoder = {};
  const bool done = Encode(encoder, image, quality);
  const std::string file = done ? std::string(reinterpret_cast<const char*>(encoder.bytes), encoder.size) : "";
  jpeg_destroy_compress(&encoder.jpeg);
  std::free(encoder.bytes);
  if (!done) return absl::InvalidArgumentError(absl::StrCat("this image cannot become a JPEG: ", encoder.message));
  return file;
}

}  // namespace vitrine
