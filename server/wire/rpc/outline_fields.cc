// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/outline_fields.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>

namespace vitrine {

using google::protobuf::internal::WireFormatLite;

bool ReadFields(google::protobuf::io::CodedInputStream& from, std::initializer_list<int> large,
                absl::FunctionRef<bool(int field)> read_large, std::string& beside) {
  // Room for the small fields of most requests: a string that grows is copied and filled with zeros at each step.
  beside.reserve(256);
  google::protobuf::io::StringOutputStream stream(&beside);
  google::protobuf::io::CodedOutputStream to(&stream);
  bool has_large = false;
  while (const uint32_t tag = from.ReadTag()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    if (std::find(large.begin(), large.end(), field) == large.end()) {
      if (!WireFormatLite::SkipField(&from, tag, &to) || to.ByteCount() > static_cast<int>(kMostBesideBytes)) {
        return false;
      }
      continue;
    }
    const bool is_bytes = WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (!is_bytes || has_large || !read_large(field)) return false;
    has_large = true;
  }
  return from.ConsumedEntireMessage();
}

bool ReadFront(google::protobuf::io::CodedInputStream& from, size_t most, std::string* front, int64_t& left_out) {
  int size = 0;
  if (!from.ReadVarintSizeAsInt(&size)) return false;
  const int taken = std::min(size, static_cast<int>(most));
  if (taken > 0 && !from.ReadString(front, taken)) return false;
  left_out = size - taken;
  return from.Skip(size - taken);
}

}  // namespace vitrine
