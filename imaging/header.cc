// SPDX-License-Identifier: Apache-2.0
#include "imaging/header.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "imaging/jpeg_markers.h"
#include "imaging/orientation.h"
#include "imaging/png_chunks.h"
#include "imaging/webp_chunks.h"

namespace vitrine {
namespace {

using std::literals::operator""sv;

constexpr std::string_view kJpegStart = "\xFF\xD8"sv;
constexpr std::string_view kPngStart = "\x89PNG"sv;

// Names what a file that is refused holds, by its first bytes, so that the caller knows what to convert.
absl::string_view LooksLike(std::string_view bytes) {
  struct Start {
    size_t at;
    std::string_view bytes;
    absl::string_view name;
  };
  constexpr Start kStarts[] = {
      {0, "GIF8"sv, "a GIF"},
      {0, "II*\0"sv, "a TIFF or camera raw"},
      {0, "MM\0*"sv, "a TIFF or camera raw"},
      {0, "II+\0"sv, "a TIFF"},
      {0, "MM\0+"sv, "a TIFF"},
      {0, "BM"sv, "a BMP"},
      {0, "\0\0\1\0"sv, "an icon (ICO)"},
      {0, "8BPS"sv, "a Photoshop file (PSD)"},
      {0, "qoif"sv, "a QOI"},
      {0, "DDS "sv, "a DDS"},
      {0, "\x76\x2F\x31\x01"sv, "an OpenEXR"},
      {0, "P4\n"sv, "a PBM"},
      {0, "P5\n"sv, "a PGM"},
      {0, "P6\n"sv, "a PPM"},
      {0, "SIMPLE  ="sv, "a FITS"},
      {128, "DICM"sv, "a DICOM"},
      {0, "\x93NUMPY"sv, "a NumPy array"},
      {4, "ftypheic"sv, "a HEIC"},
      {4, "ftypheix"sv, "a HEIC"},
      {4, "ftyphevc"sv, "a HEIC"},
      {4, "ftypmsf1"sv, "a HEIF"},
      {4, "ftypmif1"sv, "a HEIF"},
      {4, "ftypavif"sv, "an AVIF"},
      {4, "ftyp"sv, "a video or other ISO media"},
      {0, "\xFF\x0A"sv, "a JPEG XL"},
      {4, "JXL "sv, "a JPEG XL"},
      {4, "jP  "sv, "a JPEG 2000"},
      {0, "\x8AMNG"sv, "an MNG"},
      {0, "%PDF"sv, "a PDF"},
      {0, "<svg"sv, "an SVG"},
      {0, "<?xml"sv, "an XML or SVG"},
      {0, "<!DOCTYPE"sv, "a web page"},
      {0, "<!doctype"sv, "a web page"},
      {0, "<html"sv, "a web page"},
      {0, "<HTML"sv, "a web page"},
      {0, "version https://git-lfs"sv, "a pointer of Git LFS, whose file was not fetched"},
      {0, "\x1F\x8B"sv, "a gzip archive"},
      {0, "PK\x03\x04"sv, "a ZIP archive"},
  };
  for (const Start& start : kStarts) {
    if (bytes.size() > start.at && bytes.substr(start.at, start.bytes.size()) == start.bytes) return start.name;
  }
  return "";
}

absl::StatusOr<ImageHeader> ReadByFormat(std::string_view bytes) {
  if (bytes.empty()) return absl::InvalidArgumentError("the picture is empty; send a JPEG, PNG or WebP file");
  if (bytes.substr(0, kJpegStart.size()) == kJpegStart) return ReadJpegHeader(bytes);
  if (bytes.substr(0, kPngStart.size()) == kPngStart) return ReadPngHeader(bytes);
  if (BeginsAsWebp(bytes)) return ReadWebpHeader(bytes);
  const absl::string_view name = LooksLike(bytes);
  if (name.empty())
    return absl::InvalidArgumentError("the picture is neither a JPEG nor a PNG nor a WebP; send one of these");
  return absl::InvalidArgumentError(
      absl::StrCat("the picture is ", name,
                   " by its first bytes, whatever its name says; send a JPEG, PNG or WebP "
                   "file"));
}

absl::Status CheckLimits(const ImageHeader& header, const ImageLimits& limits) {
  const int64_t pixels = int64_t{header.stored_width} * header.stored_height;
  if (pixels <= limits.max_pixels && header.stored_width <= limits.max_side &&
      header.stored_height <= limits.max_side) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "the picture has %d x %d pixels (%.1f megapixels); at most %.1f megapixels and %d pixels a side are accepted, so "
      "send it scaled down",
      header.width, header.height, pixels / 1e6, limits.max_pixels / 1e6, limits.max_side));
}

}  // namespace

absl::StatusOr<ImageHeader> ReadHeader(std::string_view bytes, const ImageLimits& limits) {
  ASSIGN_OR_RETURN(ImageHeader header, ReadByFormat(bytes));
  const bool swap = SwapsSides(header.orientation);
  header.width = swap ? header.stored_height : header.stored_width;
  header.height = swap ? header.stored_width : header.stored_height;
  RETURN_IF_ERROR(CheckLimits(header, limits));
  return header;
}

}  // namespace vitrine
