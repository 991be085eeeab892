// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/outline_fields.h"

#include <google/protobuf/wire_format_lite.h>

#include <algorithm>

namespace vitrine {

using google::protobuf::internal::WireFormatLite;

bool IsBytesTag(uint32_t tag) {
  return WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
}

bool CopySmallField(google::protobuf::io::CodedInputStream& from, uint32_t tag,
                    google::protobuf::io::CodedOutputStream& to) {
  return WireFormatLite::SkipField(&from, tag, &to) && to.ByteCount() <= static_cast<int>(kMostBesideBytes);
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
