// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/codecs/jpeg.h"

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
// jpeglib.h needs size_t and FILE.
#include <jerror.h>
#include <jpeglib.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/imaging/codecs/jpeg_markers.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// libjpeg reports errors by a callback that must not return. The callback longjmps to `escape`. Therefore functions
// that call setjmp, and functions that run between setjmp and longjmp, have no objects with a destructor. The functions
// of JpegRows may have such objects, because they return before libjpeg is called again.
struct Decoder {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg_source_mgr source;
  jpeg_progress_mgr progress;
  int max_scans;
  bool lacks_end;    // true: the file has no end marker, and NoMoreBytes has not supplied one yet
  bool is_complete;  // true: no scan of a progressive file is missing
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

// Handles warnings (level -1) as errors, because libjpeg would continue after damage and fill in missing data. Ignores
// four warnings that mean no damage to the pixels: stray bytes before a marker, an unknown JFIF version, unusual scan
// parameters that baseline JPEG ignores, and an unknown Adobe transform, for which no choice other than libjpeg's is
// reasonable.
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

void OnOutput(j_common_ptr) {}  // prints nothing

void InitSource(j_decompress_ptr) {}
void EndSource(j_decompress_ptr) {}

// Handles libjpeg's request for more bytes. All bytes were given at the start, so the file is truncated. If the end
// marker is missing, gives libjpeg an end marker once, so that libjpeg returns the last rows; libjpeg warns if it had
// to invent a pixel.
boolean NoMoreBytes(j_decompress_ptr jpeg) {
  static constexpr JOCTET kEnd[] = {0xFF, JPEG_EOI};
  Decoder& decoder = DecoderOf(reinterpret_cast<j_common_ptr>(jpeg));
  if (!decoder.lacks_end) {
    jpeg->err->msg_code = JERR_INPUT_EOF;
    Escape(reinterpret_cast<j_common_ptr>(jpeg));
  }
  decoder.lacks_end = false;
  decoder.source.next_input_byte = kEnd;
  decoder.source.bytes_in_buffer = sizeof(kEnd);
  return TRUE;
}

void SkipBytes(j_decompress_ptr jpeg, long count) {  // NOLINT: libjpeg's signature
  if (count <= 0) return;
  if (static_cast<size_t>(count) > jpeg->src->bytes_in_buffer) {
    NoMoreBytes(jpeg);
    return;
  }
  jpeg->src->next_input_byte += count;
  jpeg->src->bytes_in_buffer -= count;
}

// Stops the decoder after max_scans scans. libjpeg calls this function often while it reads scans and rows.
// CheckJpegScans has already counted the scans; this limit also covers scans that only libjpeg finds.
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

// Creates the decoder and reads the header. Returns false and sets decoder.message on failure.
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

// Converts CMYK to RGB without a colour profile. The inks are inverted, as Adobe's programs store them. Pillow and
// Chromium also assume inverted inks, with and without Adobe's marker.
void CmykRowToRgb(const uint8_t* cmyk, int width, uint8_t* rgb) {
  for (int x = 0; x < width; ++x, cmyk += 4, rgb += 3) {
    for (int c = 0; c < 3; ++c) rgb[c] = static_cast<uint8_t>((cmyk[c] * cmyk[3] + 127) / 255);
  }
}

// Returns true if libjpeg can skip pixels, read the whole file, and return the other pixels unchanged. For other images
// libjpeg may smooth across blocks (several scans), or change pixels at the edge of a crop (unusual chroma sampling).
bool CanLeaveOut(jpeg_decompress_struct& jpeg) {
  if (jpeg.out_color_space == JCS_CMYK || jpeg_has_multiple_scans(&jpeg)) return false;
  for (int c = 0; c < jpeg.num_components; ++c) {
    const jpeg_component_info& component = jpeg.comp_info[c];
    if (component.h_samp_factor > (c == 0 ? 2 : 1) || component.v_samp_factor > (c == 0 ? 2 : 1)) return false;
  }
  return true;
}

// Crops the columns that `part` does not need. Returns the first remaining column. The margin is needed because libjpeg
// smooths chroma between neighbours and treats the edge of the crop as the image's edge.
int CropColumns(jpeg_decompress_struct& jpeg, const ImagePart& part) {
  constexpr int kMargin = 2;  // pixels; one chroma sample at half resolution
  const int width = static_cast<int>(jpeg.output_width);
  JDIMENSION left = part.left < kMargin ? 0 : part.left - kMargin;
  JDIMENSION columns = (part.right + kMargin > width ? width : part.right + kMargin) - left;
  if (columns < jpeg.output_width) jpeg_crop_scanline(&jpeg, &left, &columns);
  return static_cast<int>(left);
}

void ReadRow(Decoder& decoder, uint8_t* cmyk_row, JpegRows& rows) {
  const int y = static_cast<int>(decoder.jpeg.output_scanline);
  uint8_t* room = rows.RoomFor(y);
  JSAMPROW row = cmyk_row != nullptr ? cmyk_row : room;
  jpeg_read_scanlines(&decoder.jpeg, &row, 1);
  if (cmyk_row != nullptr) CmykRowToRgb(cmyk_row, static_cast<int>(decoder.jpeg.output_width), room);
  rows.Take(y);
}

// Returns false if the scans of a progressive file lack bits of a coefficient. libjpeg decodes such a file without a
// warning.
bool HasEveryBit(const jpeg_decompress_struct& jpeg) {
  if (!jpeg.progressive_mode) return true;
  for (int c = 0; c < jpeg.num_components; ++c) {
    for (const int missing : jpeg.coef_bits[c]) {
      if (missing != 0) return false;  // -1 means that no bit was present
    }
  }
  return true;
}

// Passes the rows of `part` to `rows`, and reads to the end marker. `cmyk_row` has space for a row of four bytes per
// pixel; it is null if the image is not CMYK.
bool ReadRows(Decoder& decoder, const ImagePart& part, uint8_t* cmyk_row, JpegRows& rows) {
  if (setjmp(decoder.escape)) return false;
  jpeg_decompress_struct& jpeg = decoder.jpeg;
  jpeg_start_decompress(&jpeg);
  const bool leave_out = CanLeaveOut(jpeg);
  const int left = leave_out ? CropColumns(jpeg, part) : 0;
  rows.Begin(left, static_cast<int>(jpeg.output_width), jpeg.out_color_space == JCS_GRAYSCALE ? 1 : 3);
  if (leave_out && part.top > 0) jpeg_skip_scanlines(&jpeg, part.top);
  while (jpeg.output_scanline < static_cast<JDIMENSION>(part.bottom)) ReadRow(decoder, cmyk_row, rows);
  // The last row is read, because skipping this row would leave the end of the file unread.
  if (leave_out && jpeg.output_scanline + 1 < jpeg.output_height) {
    jpeg_skip_scanlines(&jpeg, jpeg.output_height - 1 - jpeg.output_scanline);
  }
  while (jpeg.output_scanline < jpeg.output_height) ReadRow(decoder, cmyk_row, rows);
  decoder.is_complete = HasEveryBit(jpeg);
  jpeg_finish_decompress(&jpeg);
  return true;
}

// Returns where in the file the decoder stopped at damage, for an error message: the scan, and the approximate row of
// the stored image. The result is the same whether ReadRows decodes the whole image or skips rows and columns.
std::string PlaceOf(const jpeg_decompress_struct& jpeg) {
  const JDIMENSION rows = jpeg.input_iMCU_row * static_cast<JDIMENSION>(jpeg.max_v_samp_factor) * DCTSIZE;
  return absl::StrCat("in scan ", jpeg.input_scan_number, " near row ", rows, " of ", jpeg.image_height);
}

// Returns the error for a file without an end marker; the message names the other missing parts. `decoded`: true if
// libjpeg returned all rows.
absl::Status WithoutEnd(const Decoder& decoder, bool decoded) {
  constexpr absl::string_view kCure = "send the whole file";
  if (!decoded) return DamagedJpeg(absl::StrCat("its pixels end ", PlaceOf(decoder.jpeg), "; ", kCure));
  if (!decoder.is_complete) return DamagedJpeg(absl::StrCat("its last scans are missing; ", kCure));
  return DamagedJpeg("its end marker (EOI) is missing, but all of its pixels are present; save it again");
}

class WholeImage : public JpegRows {
 public:
  WholeImage(int width, int height) : image_{width, height, 0, {}} {}

  void Begin(int /*left*/, int width, int channels) override {
    image_.channels = channels;
    image_.pixels.resize(static_cast<size_t>(width) * image_.height * channels);
  }
  uint8_t* RoomFor(int y) override {
    return image_.pixels.data() + static_cast<ptrdiff_t>(y) * image_.width * image_.channels;
  }
  void Take(int /*y*/) override {}

  Image TakeImage() { return std::move(image_); }

 private:
  Image image_;
};

}  // namespace

absl::StatusOr<Image> DecodeJpeg(std::string_view bytes, const ImageHeader& header, const ImageLimits& limits,
                                 int divisor) {
  // libjpeg also rounds up.
  const int width = (header.stored_width + divisor - 1) / divisor;
  const int height = (header.stored_height + divisor - 1) / divisor;
  WholeImage whole(width, height);
  RETURN_IF_ERROR(DecodeJpegRows(bytes, header, limits, divisor, {0, height, 0, width}, whole));
  return whole.TakeImage();
}

absl::Status DecodeJpegRows(std::string_view bytes, const ImageHeader& header, const ImageLimits& limits, int divisor,
                            const ImagePart& part, JpegRows& rows) {
  ASSIGN_OR_RETURN(const bool has_end, CheckJpegScans(bytes, limits.max_scans));
  Decoder decoder = {};
  decoder.lacks_end = !has_end;
  struct Destroy {
    Decoder& decoder;
    ~Destroy() { jpeg_destroy_decompress(&decoder.jpeg); }
  } destroy{decoder};
  if (!Start(decoder, bytes.data(), bytes.size(), limits.max_scans)) return DamagedJpeg(decoder.message);
  if (decoder.jpeg.image_width != static_cast<JDIMENSION>(header.stored_width) ||
      decoder.jpeg.image_height != static_cast<JDIMENSION>(header.stored_height)) {
    return absl::InvalidArgumentError("the JPEG is damaged: its headers contradict each other about its size");
  }
  decoder.jpeg.scale_num = 1;
  decoder.jpeg.scale_denom = static_cast<unsigned int>(divisor);
  const bool cmyk = decoder.jpeg.out_color_space == JCS_CMYK;
  std::vector<uint8_t> cmyk_row(cmyk ? size_t{4} * header.stored_width : 0);
  const bool decoded = ReadRows(decoder, part, cmyk ? cmyk_row.data() : nullptr, rows);
  if (!has_end) return WithoutEnd(decoder, decoded);
  return decoded ? absl::OkStatus() : DamagedJpeg(absl::StrCat(decoder.message, ", ", PlaceOf(decoder.jpeg)));
}

}  // namespace vitrine
