// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_CODECS_WEBP_CHUNKS_H_
#define VITRINE_COMMON_IMAGING_CODECS_WEBP_CHUNKS_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/imaging/header.h"

namespace vitrine {

// Returns true if the file starts like a WebP: "RIFF", any length, "WEBP".
bool BeginsAsWebp(std::string_view bytes);

// Reads the header of a WebP: the size in its first chunk, and the orientation from the EXIF chunk or else the XMP
// chunk, if the flags of the VP8X header announce the chunk. These chunks follow the pixels, so the start of a file may
// give orientation 1 although the whole file gives another orientation. INVALID_ARGUMENT: a damaged header, more than
// 1024 chunks, an animation. Checks no size limits.
absl::StatusOr<ImageHeader> ReadWebpHeader(std::string_view bytes);

// Checks that the file is complete: every chunk must be complete, and exactly one chunk must have pixels. Otherwise
// returns INVALID_ARGUMENT. (libwebp accepts some truncated files.) Requires that ReadWebpHeader accepted the bytes.
absl::Status CheckWebpIsWhole(std::string_view bytes);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_CODECS_WEBP_CHUNKS_H_
