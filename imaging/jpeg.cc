// SPDX-License-Identifier: Apache-2.0
#include "imaging/jpeg.h"

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
// jpeglib.h needs size_t and FILE.
#include <jerror.h>
#include <jpeglib.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "imaging/jpeg_markers.h"

namespace vitrine {
namespace {

// libjpeg reports errors by calling back, and the callback must not return: it jumps to `escape`. The jump passes
// libjpeg's own frames and the callbacks below, none of which holds an object with a destructor; the functions that
// call setjmp hold none either.
struct Decoder {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg_source_mgr source;
  jpeg_progress_mgr progress;
  int max_scans;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
};

Decoder& DecoderOf(j_common_ptr jpeg) {
  return *static_cast<Decoder*>(jpeg->client_data);
}

[[noreturn]] void Escape(j_common_ptr jpeg) {
  Decoder& decoder = DecoderOf(jpeg);
  (*jpeg->err->format_message)(jpeg, decoder.message);
  std::longjmp(decoder.escape, 1);
}

// Level -1 is a warning. libjpeg goes on after damage and fills in what is missing; we do not. Four warnings mean no
// damage to the pixels: stray bytes before a marker, an unknown JFIF version, odd scan parameters that baseline
// ignores, and an unknown Adobe transform, for which libjpeg's guess is the only sensible one.
void OnMessage(j_common_ptr jpeg, int level) {
  if (level != -1) return;
  switch (jpeg->err->msg_code) {
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
    case JWRN_ADOBE_XFORM:
      return;
    default:
      Escape(jpeg);
  }
}

void OnOutput(j_common_ptr) {}  // nothing is ever printed

void InitSource(j_decompress_ptr) {}
void EndSource(j_decompress_ptr) {}

// All bytes were there from the start, so a request for more is the end of a truncated file.
boolean NoMoreBytes(j_decompress_ptr jpeg) {
  jpeg->err->msg_code = JERR_INPUT_EOF;
  Escape(reinterpret_cast<j_common_ptr>(jpeg));
}

void SkipBytes(j_decompress_ptr jpeg, long count) {  // NOLINT: libjpeg's signature
  if (count <= 0) return;
  if (static_cast<size_t>(count) > jpeg->src->bytes_in_buffer) NoMoreBytes(jpeg);
  jpeg->src->next_input_byte += count;
  jpeg->src->bytes_in_buffer -= count;
}

// CheckJpegScans has counted already; this holds even if libjpeg sees scans that our walk did not.
void OnProgress(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= DecoderOf(jpeg).max_scans) return;
  std::snprintf(DecoderOf(jpeg).message, JMSG_LENGTH_MAX, "it has more than %d scans", DecoderOf(jpeg).max_scans);
  std::longjmp(DecoderOf(jpeg).escape, 1);
}

void Connect(Decoder& decoder, const char* bytes, size_t size, int max_scans) {
  decoder.jpeg.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = Escape;
  decoder.errors.emit_message = OnMessage;
  decoder.errors.output_message = OnOutput;
  decoder.jpeg.client_data = &decoder;
  decoder.max_scans = max_scans;
  decoder.source.init_source = InitSource;
  decoder.source.fill_input_buffer = NoMoreBytes;
  decoder.source.skip_input_data = SkipBytes;
  decoder.source.resync_to_restart = jpeg_resync_to_restart;
  decoder.source.term_source = EndSource;
  decoder.source.next_input_byte = reinterpret_cast<const JOCTET*>(bytes);
  decoder.source.bytes_in_buffer = size;
  decoder.progress.progress_monitor = OnProgress;
}

// Creates the decoder and reads the header. False leaves the reason in decoder.message.
bool Start(Decoder& decoder, const char* bytes, size_t size, int max_scans) {
  Connect(decoder, bytes, size, max_scans);
  if (setjmp(decoder.escape)) return false;
  jpeg_create_decompress(&decoder.jpeg);
  decoder.jpeg.src = &decoder.source;
  decoder.jpeg.progress = &decoder.progress;
  jpeg_read_header(&decoder.jpeg, TRUE);
  switch (decoder.jpeg.jpeg_color_space) {
    case JCS_GRAYSCALE:
      decoder.jpeg.out_color_space = JCS_GRAYSCALE;
      break;
    case JCS_CMYK:
    case JCS_YCCK:
      decoder.jpeg.out_color_space = JCS_CMYK;
      break;
    default:
      decoder.jpeg.out_color_space = JCS_RGB;
      break;
  }
  decoder.jpeg.dct_method = JDCT_ISLOW;
  return true;
}

// Four inks to RGB without a colour profile. Adobe's programs store the inks inverted and say so with their marker.
void CmykRowToRgb(const uint8_t* cmyk, int width, bool inverted, uint8_t* rgb) {
  for (int x = 0; x < width; ++x, cmyk += 4, rgb += 3) {
    const int key = inverted ? cmyk[3] : 255 - cmyk[3];
    for (int c = 0; c < 3; ++c) {
      const int light = inverted ? cmyk[c] : 255 - cmyk[c];
      rgb[c] = static_cast<uint8_t>((light * key + 127) / 255);
    }
  }
}

// Decodes every row to `pixels` (rows of `stride` bytes) and reads to the end marker. `cmyk_row` has room for one row
// of four bytes per pixel; it is used for CMYK alone.
bool ReadRows(Decoder& decoder, uint8_t* pixels, size_t stride, uint8_t* cmyk_row) {
  if (setjmp(decoder.escape)) return false;
  jpeg_start_decompress(&decoder.jpeg);
  const bool cmyk = decoder.jpeg.out_color_space == JCS_CMYK;
  const bool inverted = decoder.jpeg.saw_Adobe_marker;
  while (decoder.jpeg.output_scanline < decoder.jpeg.output_height) {
    uint8_t* out = pixels + decoder.jpeg.output_scanline * stride;
    JSAMPROW row = cmyk ? cmyk_row : out;
    jpeg_read_scanlines(&decoder.jpeg, &row, 1);
    if (cmyk) CmykRowToRgb(cmyk_row, static_cast<int>(decoder.jpeg.output_width), inverted, out);
  }
  jpeg_finish_decompress(&decoder.jpeg);
  return true;
}

absl::Status DamagedJpeg(const Decoder& decoder) {
  return absl::InvalidArgumentError(absl::StrCat("the JPEG is damaged or cut short: ", decoder.message));
}

}  // namespace

absl::StatusOr<Image> DecodeJpeg(std::string_view bytes, const ImageHeader& header, const ImageLimits& limits,
                                 int divisor) {
  RETURN_IF_ERROR(CheckJpegScans(bytes, limits.max_scans));
  Decoder decoder = {};
  struct Destroy {
    Decoder& decoder;
    ~Destroy() { jpeg_destroy_decompress(&decoder.jpeg); }
  } destroy{decoder};
  if (!Start(decoder, bytes.data(), bytes.size(), limits.max_scans)) return DamagedJpeg(decoder);
  if (decoder.jpeg.image_width != static_cast<JDIMENSION>(header.stored_width) ||
      decoder.jpeg.image_height != static_cast<JDIMENSION>(header.stored_height)) {
    return absl::InvalidArgumentError("the JPEG is damaged: its headers contradict each other about its size");
  }
  // libjpeg rounds up as well.
  decoder.jpeg.scale_num = 1;
  decoder.jpeg.scale_denom = static_cast<unsigned int>(divisor);
  Image image;
  image.width = (header.stored_width + divisor - 1) / divisor;
  image.height = (header.stored_height + divisor - 1) / divisor;
  image.channels = decoder.jpeg.out_color_space == JCS_GRAYSCALE ? 1 : 3;
  const size_t stride = static_cast<size_t>(image.width) * image.channels;
  image.pixels.resize(stride * image.height);
  std::vector<uint8_t> cmyk_row(decoder.jpeg.out_color_space == JCS_CMYK ? size_t{4} * image.width : 0);
  if (!ReadRows(decoder, image.pixels.data(), stride, cmyk_row.data())) return DamagedJpeg(decoder);
  return image;
}

}  // namespace vitrine
