// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_OUTLINE_FIELDS_H_
#define VITRINE_SERVER_WIRE_RPC_OUTLINE_FIELDS_H_

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace vitrine {

// How a message is taken apart whose large fields are left out. What returns false has met bytes that are no message,
// or more than an outline holds.

// Of everything beside the picture.
inline constexpr size_t kMostBesideBytes = size_t{16} << 10;

// The small fields, as they came; complete once what writes to `stream` is gone. Room for those of most requests is
// made at once: a string that grows is copied and filled with zeros at each step.
struct SmallFields {
  SmallFields() { bytes.reserve(256); }

  std::string bytes = {};
  google::protobuf::io::StringOutputStream stream{&bytes};
};

// Whether the field of this tag is text, bytes or a message.
bool IsBytesTag(uint32_t tag);

// Writes a field, whose tag has been read, to `to`.
bool CopySmallField(google::protobuf::io::CodedInputStream& from, uint32_t tag,
                    google::protobuf::io::CodedOutputStream& to);

// Of a field of bytes, whose tag has been read, so many of the first, and how many there are beyond. With `most` 0 the
// front may be null.
bool ReadFront(google::protobuf::io::CodedInputStream& from, size_t most, std::string* front, int64_t& left_out);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_OUTLINE_FIELDS_H_
