// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/wire.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

template <typename Message>
grpc::ByteBuffer Serialize(const Message& message) {
  grpc::ByteBuffer bytes;
  bool own_buffer = false;
  const grpc::Status status = grpc::SerializationTraits<Message>::Serialize(message, &bytes, &own_buffer);
  if (!status.ok()) bytes.Clear();
  return bytes;
}

template <typename Message>
absl::StatusOr<Message> Parse(grpc::ByteBuffer& bytes) {
  Message message;
  const bool parsed = grpc::SerializationTraits<Message>::Deserialize(&bytes, &message).ok();
  bytes.Clear();
  if (!parsed) {
    return absl::InvalidArgumentError(
        absl::StrCat("the message cannot be parsed as ", Message::descriptor()->full_name()));
  }
  return message;
}

}  // namespace

absl::StatusOr<v1::ClassifyRequest> ParseRequest(grpc::ByteBuffer& bytes) {
  return Parse<v1::ClassifyRequest>(bytes);
}

absl::StatusOr<inference::ModelInferRequest> ParseInferRequest(grpc::ByteBuffer& bytes) {
  return Parse<inference::ModelInferRequest>(bytes);
}

std::string RequestIdOf(grpc::ByteBuffer& bytes) {
  using google::protobuf::internal::WireFormatLite;
  grpc::ProtoBufferReader reader(&bytes);
  google::protobuf::io::CodedInputStream input(&reader);
  std::string id;
  while (const uint32_t tag = input.ReadTag()) {
    const bool is_id = WireFormatLite::GetTagFieldNumber(tag) == v1::ClassifyRequest::kRequestIdFieldNumber;
    if (!(is_id ? WireFormatLite::ReadString(&input, &id) : WireFormatLite::SkipField(&input, tag))) break;
  }
  return id;
}

grpc::ByteBuffer ToBytes(const v1::ClassifyResponse& response) {
  return Serialize(response);
}

grpc::ByteBuffer ToBytes(const v1::ClassifyStreamResponse& response) {
  return Serialize(response);
}

grpc::ByteBuffer ToBytes(const inference::ModelInferResponse& response) {
  return Serialize(response);
}

grpc::ByteBuffer ToBytes(const inference::ModelStreamInferResponse& response) {
  return Serialize(response);
}

}  // namespace vitrine
