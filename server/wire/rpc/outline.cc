// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/outline.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <string>

namespace vitrine {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

// A field of bytes, whose tag has been read: its first ones, with their own length.
bool CopyFront(uint32_t tag, CodedInputStream& from, CodedOutputStream& to) {
  int size = 0;
  if (!from.ReadVarintSizeAsInt(&size)) return false;
  const int front = std::min(size, static_cast<int>(kOutlineBytes));
  std::string bytes;
  if (!from.ReadString(&bytes, front) || !from.Skip(size - front)) return false;
  to.WriteTag(tag);
  to.WriteVarint32(static_cast<uint32_t>(front));
  to.WriteString(bytes);
  return true;
}

// Every field but a tensor, the picture's cut short.
bool CopyOutline(CodedInputStream& from, CodedOutputStream& to) {
  while (const uint32_t tag = from.ReadTag()) {
    switch (WireFormatLite::GetTagFieldNumber(tag)) {
      case v1::ClassifyRequest::kTensorFieldNumber:
        return false;
      case v1::ClassifyRequest::kImageFieldNumber:
        if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) return false;
        if (!CopyFront(tag, from, to)) return false;
        break;
      default:
        if (!WireFormatLite::SkipField(&from, tag, &to)) return false;
    }
    if (to.ByteCount() > static_cast<int>(2 * kOutlineBytes)) return false;
  }
  return from.ConsumedEntireMessage();
}

}  // namespace

std::optional<v1::ClassifyRequest> OutlineOf(grpc::ByteBuffer& bytes) {
  grpc::ProtoBufferReader reader(&bytes);
  std::string outline;
  {
    CodedInputStream from(&reader);
    google::protobuf::io::StringOutputStream stream(&outline);
    CodedOutputStream to(&stream);
    if (!CopyOutline(from, to)) return std::nullopt;
  }
  v1::ClassifyRequest request;
  if (!request.ParseFromString(outline)) return std::nullopt;
  return request;
}

}  // namespace vitrine
