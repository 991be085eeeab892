#include "server/wire.h"

#include <grpcpp/impl/codegen/proto_utils.h>

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

}  // namespace

absl::StatusOr<v1::ClassifyRequest> ParseRequest(grpc::ByteBuffer& bytes) {
  v1::ClassifyRequest request;
  const bool parsed = grpc::SerializationTraits<v1::ClassifyRequest>::Deserialize(&bytes, &request).ok();
  bytes.Clear();
  if (!parsed) {
    return absl::InvalidArgumentError("the message cannot be parsed as vitrine.v1.ClassifyRequest");
  }
  return request;
}

grpc::ByteBuffer ToBytes(const v1::ClassifyResponse& response) {
  return Serialize(response);
}

grpc::ByteBuffer ToBytes(const v1::ClassifyStreamResponse& response) {
  return Serialize(response);
}

}  // namespace vitrine
