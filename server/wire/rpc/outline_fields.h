// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_OUTLINE_FIELDS_H_
#define VITRINE_SERVER_WIRE_RPC_OUTLINE_FIELDS_H_

#include <google/protobuf/io/coded_stream.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/functional/function_ref.h"

namespace vitrine {

// How a message is taken apart whose large fields are left out. What returns false has met bytes that are no message,
// or more than an outline holds.

// Of everything beside the picture.
inline constexpr size_t kMostBesideBytes = size_t{16} << 10;

// Reads a message to its end: the small fields, as they came, go to `beside`. Of the `large` fields one stands there,
// once at most; `read_large` reads it, as bytes whose tag has been read.
bool ReadFields(google::protobuf::io::CodedInputStream& from, std::initializer_list<int> large,
                absl::FunctionRef<bool(int field)> read_large, std::string& beside);

// Of a field of bytes, whose tag has been read, so many of the first, and how many there are beyond. With `most` 0 the
// front may be null.
bool ReadFront(google::protobuf::io::CodedInputStream& from, size_t most, std::string* front, int64_t& left_out);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_OUTLINE_FIELDS_H_
