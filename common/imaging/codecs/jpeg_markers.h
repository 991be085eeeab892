// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_CODECS_JPEG_MARKERS_H_
#define VITRINE_COMMON_IMAGING_CODECS_JPEG_MARKERS_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/imaging/header.h"

namespace vitrine {

// Returns INVALID_ARGUMENT for a JPEG with the cause `what`.
absl::Status DamagedJpeg(absl::string_view what);

// Reads the header of a JPEG: visits every segment before the first scan, without decoding. INVALID_ARGUMENT: a damaged
// header, more than 1024 segments before the first scan, or an unsupported variant (12 bits, arithmetic coding,
// lossless, hierarchical, two components, height stated after the first scan). Checks no size limits.
absl::StatusOr<ImageHeader> ReadJpegHeader(std::string_view bytes);

// Visits the markers of the whole file without decoding, and returns true if its end marker is present.
// INVALID_ARGUMENT: more than `max_scans` scans, a component without a scan, or the end of the file within a segment.
// Several components may have the same id: as in libjpeg-turbo, component i of a scan is the first component of the
// frame that has the same id and an index of at least i. A file with very many scans is rejected fast, because the
// visit takes only about 10 microseconds per 100 KB. Requires that ReadJpegHeader accepted the bytes.
absl::StatusOr<bool> CheckJpegScans(std::string_view bytes, int max_scans);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_CODECS_JPEG_MARKERS_H_
