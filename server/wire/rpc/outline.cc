// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/outline.h"

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <string>

#include "server/wire/rpc/outline_fields.h"

namespace vitrine {
namespace {

using google::protobuf::io::CodedInputStream;

// A tensor, whose tag has been read, but for its data.
bool ReadForm(CodedInputStream& from, Outline& outline) {
  const CodedInputStream::Limit end = from.ReadLengthAndPushLimit();
  const auto leave_out = [&](int) { return ReadFront(from, 0, nullptr, outline.left_out); };
  std::string form;
  if (!ReadFields(from, {v1::RawTensor::kDataFieldNumber}, leave_out, form)) return false;
  from.PopLimit(end);
  return outline.request.mutable_tensor()->ParseFromString(form);
}

}  // namespace

std::optional<Outline> OutlineOf(grpc::ByteBuffer& bytes, size_t picture_bytes) {
  using v1::ClassifyRequest;
  grpc::ProtoBufferReader reader(&bytes);
  CodedInputStream from(&reader);
  Outline outline;
  const auto read_input = [&](int field) {
    return field == ClassifyRequest::kImageFieldNumber
               ? ReadFront(from, picture_bytes, outline.request.mutable_image(), outline.left_out)
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

}  // namespace vitrine
