// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/outline.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>

namespace vitrine {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// A tensor, whose tag has been read, but for its data.
bool ReadForm(CodedInputStream& from, Outline<v1::ClassifyRequest>& outline) {
  const CodedInputStream::Limit end = from.ReadLengthAndPushLimit();
  const auto leave_out = [&](int) { return ReadFront(from, 0, nullptr, outline.left_out); };
  std::string form;
  if (!ReadFields(from, {v1::RawTensor::kDataFieldNumber}, leave_out, form)) return false;
  from.PopLimit(end);
  return outline.request.mutable_tensor()->ParseFromString(form);
}

}  // namespace

bool ReadFields(CodedInputStream& from, std::initializer_list<int> large, absl::FunctionRef<bool(int field)> read_large,
                std::string& beside) {
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

bool ReadFront(CodedInputStream& from, size_t most, std::string* front, int64_t& left_out) {
  int size = 0;
  if (!from.ReadVarintSizeAsInt(&size)) return false;
  const int taken = std::min(size, static_cast<int>(most));
  if (taken > 0 && !from.ReadString(front, taken)) return false;
  left_out = size - taken;
  return from.Skip(size - taken);
}

std::optional<Outline<v1::ClassifyRequest>> OutlineOf(grpc::ByteBuffer& bytes, size_t picture_bytes) {
  using v1::ClassifyRequest;
  grpc::ProtoBufferReader reader(&bytes);
  CodedInputStream from(&reader);
  Outline<ClassifyRequest> outline;
  const auto read_input = [&](int field) {
    outline.is_picture = field == ClassifyRequest::kImageFieldNumber;
    return outline.is_picture ? ReadFront(from, picture_bytes, outline.request.mutable_image(), outline.left_out)
                              : ReadForm(from, outline);
  };
  std::string beside;
  if (!ReadFields(from, {ClassifyRequest::kImageFieldNumber, ClassifyRequest::kTensorFieldNumber}, read_input,
                  beside) ||
      !outline.request.MergeFromString(beside)) {
    return std::nullopt;
  }
  return outline;
}

absl::StatusOr<v1::ClassifyRequest> ReadRequest(ClassifyService& service, grpc::ByteBuffer& bytes, CallContext& call) {
  return ReadOrForesee(service, bytes, call, OutlineOf, [&](Outline<v1::ClassifyRequest>& outline) {
    return service.Foresee(outline.request, outline.left_out, call);
  });
}

}  // namespace vitrine
