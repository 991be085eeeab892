// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/infer_outline.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <string>
#include <utility>

#include "server/wire/oip/split_input.h"
#include "server/wire/rpc/outline_fields.h"

namespace vitrine {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

// The one value of raw_input_contents.
struct RawValue {
  bool is_there = false;
  std::string front = {};
  int64_t left_out = 0;
};

bool ReadFields(CodedInputStream& from, size_t most, RawValue& raw, CodedOutputStream& to) {
  while (const uint32_t tag = from.ReadTag()) {
    if (WireFormatLite::GetTagFieldNumber(tag) != inference::ModelInferRequest::kRawInputContentsFieldNumber) {
      if (!CopySmallField(from, tag, to)) return false;
      continue;
    }
    if (!IsBytesTag(tag) || raw.is_there || !ReadFront(from, most, &raw.front, raw.left_out)) return false;
    raw.is_there = true;
  }
  return from.ConsumedEntireMessage();
}

}  // namespace

std::optional<InferOutline> InferOutlineOf(grpc::ByteBuffer& bytes, size_t picture_bytes) {
  grpc::ProtoBufferReader reader(&bytes);
  RawValue raw;
  SmallFields beside;
  {
    CodedInputStream from(&reader);
    CodedOutputStream to(&beside.stream);
    if (!ReadFields(from, kElementLengthBytes + picture_bytes, raw, to)) return std::nullopt;
  }
  InferOutline outline;
  inference::ModelInferRequest& request = outline.request;
  if (!raw.is_there || !request.ParseFromString(beside.bytes) || request.inputs_size() != 1) return std::nullopt;
  const inference::ModelInferRequest::InferInputTensor& input = request.inputs(0);
  if (input.shape_size() == 0 || input.shape(0) != 1 || input.parameters().contains("content_type")) {
    return std::nullopt;
  }
  outline.is_picture = input.datatype() == "BYTES";
  outline.left_out = raw.left_out;
  if (outline.is_picture) {
    const int64_t size = static_cast<int64_t>(raw.front.size()) + raw.left_out - int64_t{kElementLengthBytes};
    if (size < 0 || ElementLength(raw.front) != size) return std::nullopt;
    SetElementLength(raw.front);
  } else {
    outline.left_out += static_cast<int64_t>(raw.front.size());
    raw.front.clear();
  }
  request.add_raw_input_contents(std::move(raw.front));
  return outline;
}

}  // namespace vitrine
