// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/file_type.h"

#include <cstddef>

namespace vitrine {

using std::literals::operator""sv;

absl::string_view FileTypeOf(std::string_view bytes) {
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
      {0, "version https://git-lfs"sv, "a Git LFS pointer (git lfs pull fetches its file)"},
      {0, "\x1F\x8B"sv, "a gzip archive"},
      {0, "PK\x03\x04"sv, "a ZIP archive"},
  };
  for (const Start& start : kStarts) {
    if (bytes.size() > start.at && bytes.substr(start.at, start.bytes.size()) == start.bytes) return start.name;
  }
  return "";
}

}  // namespace vitrine
