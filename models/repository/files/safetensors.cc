// SPDX-License-Identifier: Apache-2.0
#include "models/repository/files/safetensors.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "models/repository/files/safetensors_header.h"
#include "models/repository/files/text.h"

namespace vitrine {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian; tensors are read as they are");

constexpr size_t kLengthBytes = 8;

constexpr Dtype kDtypes[] = {Dtype::kF32, Dtype::kF16, Dtype::kBF16, Dtype::kI64, Dtype::kU8};

std::optional<Dtype> DtypeOf(std::string_view name) {
  for (const Dtype dtype : kDtypes) {
    if (NameOf(dtype) == name) return dtype;
  }
  return std::nullopt;
}

absl::Status RefusedEntry(const TensorEntry& tensor, const std::string& fault) {
  return absl::InvalidArgumentError(absl::StrCat("tensor ", Quoted(tensor.name), ": ", fault));
}

// Computes the number of bytes of a tensor from its dtype and shape. Even if a dimension is zero, the product of the
// other dimensions must not overflow, because strides are products of dimensions.
absl::StatusOr<uint64_t> DeclaredBytes(const TensorEntry& tensor, Dtype dtype) {
  int64_t extent = BytesOf(dtype);
  bool empty = false;
  for (const uint64_t side : tensor.shape) {
    empty |= side == 0;
    if (side > static_cast<uint64_t>(INT64_MAX) ||
        __builtin_mul_overflow(extent, std::max<int64_t>(static_cast<int64_t>(side), 1), &extent)) {
      return RefusedEntry(tensor, absl::StrCat("shape [", absl::StrJoin(tensor.shape, ", "), "] overflows"));
    }
  }
  return empty ? 0 : static_cast<uint64_t>(extent);
}

bool StartsBefore(const TensorEntry& a, const TensorEntry& b) {
  return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
}

// Checks that the tensors, sorted by offset, cover the data exactly: each tensor starts where the previous tensor ends.
absl::Status CheckCoverage(const std::vector<TensorEntry>& by_offset, uint64_t data_bytes) {
  uint64_t covered = 0;
  for (const TensorEntry& tensor : by_offset) {
    if (tensor.begin < covered) {
      return RefusedEntry(tensor,
                          absl::StrCat("starts at ", tensor.begin, ", inside another tensor that ends at ", covered));
    }
    if (tensor.begin > covered) {
      return RefusedEntry(tensor, absl::StrCat("starts at ", tensor.begin, ", leaving a gap after ", covered));
    }
    covered = tensor.end;
  }
  if (covered < data_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(data_bytes - covered, " bytes follow the last tensor"));
  }
  return absl::OkStatus();
}

// Checks the dtype, shape and offsets of one tensor, independently of the other tensors.
absl::Status CheckEntry(const TensorEntry& tensor, uint64_t data_bytes) {
  const std::optional<Dtype> dtype = DtypeOf(tensor.dtype);
  if (!dtype.has_value()) {
    return RefusedEntry(tensor, absl::StrCat("dtype ", Quoted(tensor.dtype), " is not one of F32, F16, BF16, I64, U8"));
  }
  if (tensor.begin > tensor.end) return RefusedEntry(tensor, "its data_offsets end before they begin");
  if (tensor.end > data_bytes) {
    return RefusedEntry(tensor, absl::StrCat("ends at ", tensor.end, ", but the file holds only ", data_bytes,
                                             " bytes of tensors; it may be truncated"));
  }
  ASSIGN_OR_RETURN(const uint64_t declared, DeclaredBytes(tensor, *dtype));
  if (declared != tensor.end - tensor.begin) {
    return RefusedEntry(
        tensor, absl::StrCat("shape [", absl::StrJoin(tensor.shape, ", "), "] of ", tensor.dtype, " takes ", declared,
                             " bytes, its data_offsets span ", tensor.end - tensor.begin));
  }
  return absl::OkStatus();
}

// Reads the header of a file of `file_bytes` bytes, checks its tensors and sorts them by offset.
absl::StatusOr<SafetensorsHeader> ReadHeader(uint64_t file_bytes, const NextBytes& next) {
  if (file_bytes < kLengthBytes) {
    return absl::InvalidArgumentError(absl::StrCat(file_bytes, " bytes are too few for a safetensors file"));
  }
  uint64_t header_bytes = 0;
  RETURN_IF_ERROR(next(reinterpret_cast<char*>(&header_bytes), kLengthBytes));
  if (header_bytes > kMaxSafetensorsHeader) {
    return absl::InvalidArgumentError(
        absl::StrCat("the header has ", header_bytes, " bytes; at most ", kMaxSafetensorsHeader, " are read"));
  }
  if (header_bytes > file_bytes - kLengthBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the header has ", header_bytes, " bytes, but only ",
                                                   file_bytes - kLengthBytes, " follow; the file is truncated"));
  }
  std::string text(header_bytes, '\0');
  RETURN_IF_ERROR(next(text.data(), text.size()));
  ASSIGN_OR_RETURN(SafetensorsHeader header, ParseSafetensorsHeader(text));
  const uint64_t data_bytes = file_bytes - kLengthBytes - header_bytes;
  for (const TensorEntry& tensor : header.tensors) RETURN_IF_ERROR(CheckEntry(tensor, data_bytes));
  std::sort(header.tensors.begin(), header.tensors.end(), StartsBefore);
  RETURN_IF_ERROR(CheckCoverage(header.tensors, data_bytes));
  return header;
}

absl::StatusOr<StoredTensor> ReadTensor(const TensorEntry& entry, const NextBytes& next) {
  std::byte* bytes = nullptr;
  StoredTensor tensor = MakeStored(*DtypeOf(entry.dtype), {entry.shape.begin(), entry.shape.end()}, bytes);
  if (bytes != nullptr) {
    RETURN_IF_ERROR(next(reinterpret_cast<char*>(bytes), static_cast<size_t>(tensor.bytes())));
  }
  return tensor;
}

// Returns true if no element has an exponent of all ones, which IEEE 754 and bfloat16 use for infinity and NaN.
template <typename Bits>
bool AllFinite(const StoredTensor& tensor, Bits exponent) {
  // number of elements between two checks for an early exit; the inner loop has no exit, so that it vectorizes
  constexpr int64_t kPiece = 4096;
  const Bits* bits = tensor.As<Bits>();
  const int64_t count = tensor.elements();
  for (int64_t first = 0; first < count; first += kPiece) {
    Bits found = 0;
    for (int64_t i = first; i < std::min(first + kPiece, count); ++i) {
      found = static_cast<Bits>(found | static_cast<Bits>((bits[i] & exponent) == exponent));
    }
    if (found != 0) return false;
  }
  return true;
}

bool IsFinite(const StoredTensor& tensor) {
  switch (tensor.dtype) {
    case Dtype::kF32:
      return AllFinite<uint32_t>(tensor, 0x7F800000);
    case Dtype::kF16:
      return AllFinite<uint16_t>(tensor, 0x7C00);
    case Dtype::kBF16:
      return AllFinite<uint16_t>(tensor, 0x7F80);
    case Dtype::kI64:
    case Dtype::kU8:
      return true;
  }
  return true;
}

}  // namespace

absl::StatusOr<Safetensors> ReadSafetensors(uint64_t file_bytes, const NextBytes& next) {
  const auto memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (file_bytes > memory) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the file has ", file_bytes, " bytes, more than the ", memory, " bytes of this machine's memory"));
  }
  ASSIGN_OR_RETURN(SafetensorsHeader header, ReadHeader(file_bytes, next));
  Safetensors content;
  content.metadata = std::move(header.metadata);
  for (const TensorEntry& entry : header.tensors) {
    ASSIGN_OR_RETURN(content.tensors[entry.name], ReadTensor(entry, next));
  }
  return content;
}

absl::StatusOr<Safetensors> ReadSafetensorsHeader(uint64_t file_bytes, const NextBytes& next) {
  ASSIGN_OR_RETURN(SafetensorsHeader header, ReadHeader(file_bytes, next));
  Safetensors content{.tensors = {}, .metadata = std::move(header.metadata)};
  for (const TensorEntry& entry : header.tensors) {
    content.tensors[entry.name] = {.dtype = *DtypeOf(entry.dtype), .shape = {entry.shape.begin(), entry.shape.end()}};
  }
  return content;
}

absl::StatusOr<Safetensors> ParseSafetensors(std::string_view bytes) {
  return ReadSafetensors(bytes.size(), [rest = bytes](char* into, size_t count) mutable {
    std::memcpy(into, rest.data(), count);
    rest.remove_prefix(count);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::string> WriteSafetensors(const Safetensors& content) {
  struct Item {
    TensorEntry entry;
    const StoredTensor* tensor;
  };
  std::vector<Item> items;
  for (const auto& [name, tensor] : content.tensors) {
    TensorEntry entry;
    entry.name = name;
    if (name == "__metadata__") return RefusedEntry(entry, "the name is reserved");
    if (tensor.shape.size() > kMaxSafetensorsRank) {
      return RefusedEntry(entry, absl::StrCat("rank is above ", kMaxSafetensorsRank));
    }
    entry.dtype = NameOf(tensor.dtype);
    entry.shape.assign(tensor.shape.begin(), tensor.shape.end());
    items.push_back({std::move(entry), &tensor});
  }
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return BytesOf(a.tensor->dtype) > BytesOf(b.tensor->dtype); });

  SafetensorsHeader header;
  header.metadata = content.metadata;
  uint64_t offset = 0;
  for (Item& item : items) {
    item.entry.begin = offset;
    item.entry.end = offset += static_cast<uint64_t>(item.tensor->bytes());
    header.tensors.push_back(item.entry);
  }
  ASSIGN_OR_RETURN(std::string json, FormatSafetensorsHeader(header));
  json.append((8 - json.size() % 8) % 8, ' ');
  if (json.size() > kMaxSafetensorsHeader) {
    return absl::InvalidArgumentError(
        absl::StrCat("the header would have ", json.size(), " bytes; at most ", kMaxSafetensorsHeader, " are read"));
  }

  std::string bytes(kLengthBytes, '\0');
  const uint64_t header_bytes = json.size();
  std::memcpy(bytes.data(), &header_bytes, kLengthBytes);
  bytes.reserve(kLengthBytes + json.size() + offset);
  bytes += json;
  for (const Item& item : items) {
    if (item.tensor->bytes() > 0) bytes.append(item.tensor->As<char>(), static_cast<size_t>(item.tensor->bytes()));
  }
  return bytes;
}

absl::Status CheckFinite(const Safetensors& content) {
  for (const auto& [name, tensor] : content.tensors) {
    if (tensor.data != nullptr && !IsFinite(tensor)) {
      return absl::FailedPreconditionError(absl::StrCat("tensor ", Quoted(name), " holds NaN or infinity"));
    }
  }
  return absl::OkStatus();
}

}  // namespace vitrine
