// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/outline.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include "server/wire/rpc/outline_fields.h"

namespace vitrine {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

// A tensor, whose tag has been read, but for its data.
bool ReadForm(CodedInputStream& from, Outline& outline) {
  const CodedInputStream::Limit end = from.ReadLengthAndPushLimit();
  SmallFields beside;
  bool has_data = false;
  {
    CodedOutputStream to(&beside.stream);
    while (const uint32_t tag = from.ReadTag()) {
      if (WireFormatLite::GetTagFieldNumber(tag) != v1::RawTensor::kDataFieldNumber) {
        if (!CopySmallField(from, tag, to)) return false;
      } else if (!IsBytesTag(tag) || has_data || !ReadFront(from, 0, nullptr, outline.left_out)) {
        return false;
      } else {
        has_data = true;
      }
    }
  }
  return from.CheckEntireMessageConsumedAndPopLimit(end) &&
         outline.request.mutable_tensor()->ParseFromString(beside.bytes);
}

// The picture or tensor goes into the outline, everything else is written to `to`.
bool ReadFields(CodedInputStream& from, size_t picture_bytes, Outline& outline, CodedOutputStream& to) {
  while (const uint32_t tag = from.ReadTag()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    if (field != v1::ClassifyRequest::kImageFieldNumber && field != v1::ClassifyRequest::kTensorFieldNumber) {
      if (!CopySmallField(from, tag, to)) return false;
      continue;
    }
    if (!IsBytesTag(tag) || outline.request.input_case() != v1::ClassifyRequest::INPUT_NOT_SET) return false;
    const bool is_picture = field == v1::ClassifyRequest::kImageFieldNumber;
    if (is_picture ? !ReadFront(from, picture_bytes, outline.request.mutable_image(), outline.left_out)
                   : !ReadForm(from, outline)) {
      return false;
    }
  }
  return from.ConsumedEntireMessage();
}

}  // namespace

std::optional<Outline> OutlineOf(grpc::ByteBuffer& bytes, size_t picture_bytes) {
  grpc::ProtoBufferReader reader(&bytes);
  Outline outline;
  SmallFields beside;
  {
    CodedInputStream from(&reader);
    CodedOutputStream to(&beside.stream);
    if (!ReadFields(from, picture_bytes, outline, to)) return std::nullopt;
  }
  if (!outline.request.MergeFromString(beside.bytes)) return std::nullopt;
  return outline;
}

}  // namespace vitrine
