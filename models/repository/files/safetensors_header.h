// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_FILES_SAFETENSORS_HEADER_H_
#define VITRINE_MODELS_REPOSITORY_FILES_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// A safetensors file consists of a number n (8 bytes, little-endian), n bytes of JSON, and then the bytes of the
// tensors. This file handles the JSON.
inline constexpr uint64_t kMaxSafetensorsHeader = 1 << 20;
inline constexpr size_t kMaxSafetensorsRank = 8;

// A tensor as declared in the header; offsets count from the end of the header.
struct TensorEntry {
  std::string name;
  std::string dtype;
  std::vector<uint64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  // in the order of the JSON text
  std::map<std::string, std::string> metadata;
};

// Parses the JSON as a stream, without building a tree. The length of the text limits the memory, and the grammar of
// the header limits the nesting. INVALID_ARGUMENT, with the key, for a duplicate (also if spelled with escapes), an
// unknown field, a wrong type, a negative, fractional or overflowing number, rank above 8, a missing field, or bytes
// after the object. Does not check that dtype, shape and offsets are consistent.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json);

// Returns the JSON text of a header, with the tensors in the order of `header.tensors`. INVALID_ARGUMENT for names or
// metadata that are not UTF-8.
absl::StatusOr<std::string> FormatSafetensorsHeader(const SafetensorsHeader& header);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_FILES_SAFETENSORS_HEADER_H_
