// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_JPEG_MARKERS_H_
#define VITRINE_IMAGING_JPEG_MARKERS_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "imaging/header.h"

namespace vitrine {

// INVALID_ARGUMENT for a JPEG of which `what` names the fault.
absl::Status DamagedJpeg(absl::string_view what);

// The header of a JPEG: every segment from the start marker to the first scan is visited, none is decoded.
// INVALID_ARGUMENT: a damaged header, more than 1024 segments before the first scan, or a kind of JPEG that is refused
// (12 bits, arithmetic coding, lossless, hierarchical, two components, height stated later). Knows no limits of size.
absl::StatusOr<ImageHeader> ReadJpegHeader(std::string_view bytes);

// Walks the markers of the whole file without decoding, and returns whether its end marker is there. INVALID_ARGUMENT
// if it has more than `max_scans` scans or no scan of one of its components, or ends within a segment. Components are
// told by their ids as libjpeg-turbo does it, so that ids may repeat. About 10 microseconds per 100 KB, so a scan bomb
// costs nothing. Requires that ReadJpegHeader accepted the bytes.
absl::StatusOr<bool> CheckJpegScans(std::string_view bytes, int max_scans);

}  // namespace vitrine

#endif  // VITRINE_IMAGING_JPEG_MARKERS_H_
