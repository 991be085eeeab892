// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_PNG_CHUNKS_H_
#define VITRINE_IMAGING_PNG_CHUNKS_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "imaging/header.h"

namespace vitrine {

// The header of a PNG: IHDR, and the orientation that its metadata state, before or behind the pixels: an eXIf chunk,
// else ImageMagick's text "Raw profile type exif", else XMP in an iTXt chunk. Where the file is cut after its pixels
// began, what stands further back counts as absent. INVALID_ARGUMENT: a damaged header, more than 1024 chunks before
// the pixels or 65536 in all. Knows no limits of size.
absl::StatusOr<ImageHeader> ReadPngHeader(std::string_view bytes);

// The parts of the file that its pixels depend on, in order: signature, IHDR, PLTE, tRNS, IDAT, IEND. Everything else
// (text, colour profiles, animation frames) is walked over here and never reaches a decoder.
// INVALID_ARGUMENT: the file ends before IEND, any checksum is wrong, an unknown critical chunk, pixels in two places.
// Requires that ReadPngHeader accepted the bytes.
absl::StatusOr<std::vector<std::string_view>> SelectPngPixels(std::string_view bytes);

}  // namespace vitrine

#endif  // VITRINE_IMAGING_PNG_CHUNKS_H_
