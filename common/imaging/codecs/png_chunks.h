// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_CODECS_PNG_CHUNKS_H_
#define VITRINE_COMMON_IMAGING_CODECS_PNG_CHUNKS_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/imaging/header.h"

namespace vitrine {

// Reads the header of a PNG: IHDR, and the orientation in metadata before or after the pixels. The orientation is taken
// from an eXIf chunk, or else from ImageMagick's text "Raw profile type exif", or else from XMP in a text chunk. If
// the file is cut off after its pixels began, later metadata counts as absent. INVALID_ARGUMENT: a damaged header, more
// than 1024 chunks before the pixels or 65536 in total. Checks no size limits.
absl::StatusOr<ImageHeader> ReadPngHeader(std::string_view bytes);

// Returns the parts of the file that its pixels depend on, in order: signature, IHDR, PLTE, tRNS, IDAT, IEND. All other
// chunks (text, colour profiles, animation frames) are skipped and never reach a decoder. INVALID_ARGUMENT: the file
// ends before IEND, a wrong checksum, an unknown critical chunk, IDAT chunks that are not adjacent. Requires that
// ReadPngHeader accepted the bytes.
absl::StatusOr<std::vector<std::string_view>> SelectPngPixels(std::string_view bytes);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_CODECS_PNG_CHUNKS_H_
