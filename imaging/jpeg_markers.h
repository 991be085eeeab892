// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_JPEG_MARKERS_H_
#define VITRINE_IMAGING_JPEG_MARKERS_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "imaging/header.h"

namespace vitrine {

// The header of a JPEG: every segment from the start marker to the first scan is visited, none is decoded.
// INVALID_ARGUMENT: a damaged header, more than 1024 segments before the first scan, or a kind of JPEG that is refused
// (12 bits, arithmetic coding, lossless, hierarchical, two components, height stated later). Knows no limits of size.
absl::StatusOr<ImageHeader> ReadJpegHeader(std::string_view bytes);

// Walks the markers of the whole file without decoding: INVALID_ARGUMENT if it has more than `max_scans` scans, no scan
// of one of its components, or ends before its end marker. About 10 microseconds per 100 KB, so a scan bomb costs
// nothing. Requires that ReadJpegHeader accepted the bytes.
absl::Status CheckJpegScans(std::string_view bytes, int max_scans);

}  // namespace vitrine

#endif  // VITRINE_IMAGING_JPEG_MARKERS_H_
