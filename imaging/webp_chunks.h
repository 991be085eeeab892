// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_WEBP_CHUNKS_H_
#define VITRINE_IMAGING_WEBP_CHUNKS_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "imaging/header.h"

namespace vitrine {

// Whether the file begins as a WebP does: RIFF, any length, WEBP.
bool BeginsAsWebp(std::string_view bytes);

// The header of a WebP: the size that its first chunk states, and the orientation of its EXIF chunk or, where
// that has none, of its XMP chunk, if the header announces them. They stand behind the pixels, so the front of a file
// says orientation 1 where the whole may say another.
// INVALID_ARGUMENT: a damaged header, more than 1024 chunks, an animation. Knows no limits of size.
absl::StatusOr<ImageHeader> ReadWebpHeader(std::string_view bytes);

// INVALID_ARGUMENT unless all that the file announces is there: every chunk to its last byte, pixels once. libwebp
// would take some of what is cut short. Requires that ReadWebpHeader accepted the bytes.
absl::Status CheckWebpIsWhole(std::string_view bytes);

}  // namespace vitrine

#endif  // VITRINE_IMAGING_WEBP_CHUNKS_H_
