// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/header.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/imaging/codecs/jpeg_markers.h"
#include "common/imaging/codecs/png_chunks.h"
#include "common/imaging/codecs/webp_chunks.h"
#include "common/imaging/file_type.h"
#include "common/imaging/orientation.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

using std::literals::operator""sv;

constexpr std::string_view kJpegStart = "\xFF\xD8"sv;
constexpr std::string_view kPngStart = "\x89PNG"sv;

absl::StatusOr<ImageHeader> ReadByFormat(std::string_view bytes) {
  if (bytes.empty()) return absl::InvalidArgumentError("the image is empty; send a JPEG, PNG or WebP file");
  if (bytes.substr(0, kJpegStart.size()) == kJpegStart) return ReadJpegHeader(bytes);
  if (bytes.substr(0, kPngStart.size()) == kPngStart) return ReadPngHeader(bytes);
  if (BeginsAsWebp(bytes)) return ReadWebpHeader(bytes);
  const absl::string_view name = FileTypeOf(bytes);
  if (name.empty())
    return absl::InvalidArgumentError("the image is neither a JPEG nor a PNG nor a WebP; send one of these");
  return absl::InvalidArgumentError(
      absl::StrCat("the image is ", name,
                   " by its first bytes, regardless of its name; send a JPEG, PNG or WebP "
                   "file"));
}

absl::Status CheckLimits(const ImageHeader& header, const ImageLimits& limits) {
  const int64_t pixels = int64_t{header.stored_width} * header.stored_height;
  if (pixels <= limits.max_pixels && header.stored_width <= limits.max_side &&
      header.stored_height <= limits.max_side) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "the image has %d x %d = %d pixels; at most %d pixels (%.1f megapixels) and %d pixels a side are accepted, so "
      "send it scaled down",
      header.width, header.height, pixels, limits.max_pixels, limits.max_pixels / 1e6, limits.max_side));
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
