// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_FILES_SAFETENSORS_H_
#define VITRINE_MODELS_REPOSITORY_FILES_SAFETENSORS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/repository/files/stored_tensor.h"

namespace vitrine {

// Tensors by name, and the free-form strings of "__metadata__".
struct Safetensors {
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
};

// Copies the next `count` bytes of a file to `into`. ReadSafetensors never requests more bytes than the file has.
using NextBytes = std::function<absl::Status(char* into, size_t count)>;

// Reads a safetensors file of `file_bytes` bytes sequentially, each tensor into its own memory. Accepts F32, F16, BF16,
// I64 and U8 of rank 0 to 8. INVALID_ARGUMENT, with the tensor and the error, for a header over 1 MiB, invalid JSON, a
// duplicate key, an unknown dtype, a shape and offsets that disagree or overflow, overlaps, gaps and trailing bytes.
// RESOURCE_EXHAUSTED: the file is larger than the memory of the machine. Returns errors of `next`. Allocates at most
// `file_bytes` plus a few times the size of the header. Thread-safe.
absl::StatusOr<Safetensors> ReadSafetensors(uint64_t file_bytes, const NextBytes& next);

// Checks the header of a file of `file_bytes` bytes as ReadSafetensors does. Returns the file's tensors without data.
absl::StatusOr<Safetensors> ReadSafetensorsHeader(uint64_t file_bytes, const NextBytes& next);

// Does the same as ReadSafetensors for a file that is already in memory.
absl::StatusOr<Safetensors> ParseSafetensors(std::string_view bytes);

// Serialises `content` as a safetensors file. Tensors are sorted by element size (largest first), then by name, so that
// each tensor is aligned. Equal content gives equal bytes. INVALID_ARGUMENT for a rank above 8, a name that is not
// UTF-8 or is "__metadata__", and a header too large for ParseSafetensors.
absl::StatusOr<std::string> WriteSafetensors(const Safetensors& content);

// Checks that all numbers are finite. FAILED_PRECONDITION names the first F32, F16 or BF16 tensor with NaN or infinity.
// Skips tensors without data.
absl::Status CheckFinite(const Safetensors& content);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_FILES_SAFETENSORS_H_
