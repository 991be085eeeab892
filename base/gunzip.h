// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_GUNZIP_H_
#define VITRINE_BASE_GUNZIP_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace vitrine {

// So many first bytes tell whether something is gzip.
inline constexpr size_t kGzipMagicBytes = 3;

// Whether `bytes` begin as gzip does (RFC 1952). No message of protobuf does: its first byte would be of wire type 7.
bool IsGzip(absl::string_view bytes);

// How many bytes one gzip member says, at its end, that it unfolds to (modulo 4 GiB); 0 if it is too short to be one.
size_t StatedGunzipSize(absl::string_view compressed);

// What one gzip member unfolds to. RESOURCE_EXHAUSTED if that is more than `max_bytes`, which its trailer tells before
// anything is unfolded; INVALID_ARGUMENT if `compressed` is damaged, cut or more than one member. Whatever it claims,
// no more than `max_bytes` are taken of memory, and no more is unfolded than the trailer says. Throws
// std::bad_alloc where there is none.
absl::StatusOr<std::string> Gunzip(absl::string_view compressed, size_t max_bytes);

}  // namespace vitrine

#endif  // VITRINE_BASE_GUNZIP_H_
