// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPOSITORY_SAFETENSORS_H_
#define VITRINE_REPOSITORY_SAFETENSORS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "repository/stored_tensor.h"

namespace vitrine {

// Tensors by name, and the free-form strings of "__metadata__".
struct Safetensors {
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
};

// Copies the next `count` bytes of a file to `into`. Never asked for more than the file has.
using NextBytes = std::function<absl::Status(char* into, size_t count)>;

// Reads a safetensors file of `file_bytes` front to back, each tensor into its own memory. F32, F16, BF16, I64, U8;
// rank 0 to 8. INVALID_ARGUMENT names the tensor and the fault: header over 1 MiB, bad
// JSON, a key twice, unknown dtype, shape and offsets that disagree or overflow, overlaps, gaps, bytes left over.
// RESOURCE_EXHAUSTED: no memory. Errors of `next` are passed on. Allocates no more than `file_bytes` and a few times
// the header. Thread-safe.
absl::StatusOr<Safetensors> ReadSafetensors(uint64_t file_bytes, const NextBytes& next);

// The same from memory.
absl::StatusOr<Safetensors> ParseSafetensors(std::string_view bytes);

// The file's bytes: tensors of larger elements first and by name among equals, so that each is aligned; offsets
// contiguous, header padded to 8 bytes. Equal input gives equal bytes. INVALID_ARGUMENT for a rank above 8, a name that
// is not UTF-8 or is "__metadata__", and a header that ParseSafetensors would refuse for its size.
absl::StatusOr<std::string> WriteSafetensors(const Safetensors& content);

// FAILED_PRECONDITION names the first F32, F16 or BF16 tensor that holds NaN or infinity.
absl::Status CheckFinite(const Safetensors& content);

}  // namespace vitrine

#endif  // VITRINE_REPOSITORY_SAFETENSORS_H_
