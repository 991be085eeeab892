// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_GUNZIP_H_
#define VITRINE_COMMON_GUNZIP_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace vitrine {

// Returns true if `bytes` starts like gzip (RFC 1952). A protobuf message cannot start like gzip, because the first
// byte 0x1F would mean wire type 7, which does not exist.
bool IsGzip(absl::string_view bytes);

// Returns the decompressed size (modulo 4 GiB) that a gzip member states at its end; 0 if `compressed` is too short.
size_t StatedGunzipSize(absl::string_view compressed);

// Decompresses one gzip member. RESOURCE_EXHAUSTED: the trailer states more than `max_bytes`. INVALID_ARGUMENT:
// `compressed` is corrupt, truncated or has several members. Allocates at most about `max_bytes`, and decompresses no
// more than the trailer states.
absl::StatusOr<std::string> Gunzip(absl::string_view compressed, size_t max_bytes);

// Returns the decompressed size of a zlib stream (RFC 1950), which HTTP calls deflate. The stream does not state this
// size, so the whole stream is decompressed, in constant memory. RESOURCE_EXHAUSTED: more than `max_bytes`.
// INVALID_ARGUMENT: `compressed` is corrupt, truncated or followed by other bytes.
absl::StatusOr<size_t> SizeOfInflated(absl::string_view compressed, size_t max_bytes);

// Decompresses a zlib stream. INVALID_ARGUMENT: as for SizeOfInflated, or the decompressed size is not `size`.
absl::StatusOr<std::string> Inflate(absl::string_view compressed, size_t size);

}  // namespace vitrine

#endif  // VITRINE_COMMON_GUNZIP_H_
