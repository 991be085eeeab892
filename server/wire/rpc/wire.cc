// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/wire.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/gunzip.h"
#include "base/status_macros.h"

namespace vitrine {
namespace {

// So many of the first bytes; all of them if there are fewer.
std::string FirstBytes(grpc::ByteBuffer& bytes, size_t count) {
  grpc::ProtoBufferReader reader(&bytes);
  std::string first;
  first.reserve(std::min(count, bytes.Length()));
  const void* part;
  for (int size; first.size() < count && reader.Next(&part, &size);) {
    first.append(static_cast<const char*>(part), std::min(count - first.size(), static_cast<size_t>(size)));
  }
  return first;
}

// Unfolding costs time before anybody is asked whether the caller may have it. What is worth compressing shrinks less.
constexpr int64_t kMostUnfoldedFreely = int64_t{64} << 10;
constexpr int64_t kMostRatio = 64;

// Not copied: gRPC's own allocator would take the room for a copy.
grpc::ByteBuffer BufferOf(std::string text) {
  auto* const held = new std::string(std::move(text));
  const grpc::Slice slice(
      held->data(), held->size(), [](void* text) { delete static_cast<std::string*>(text); }, held);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace

absl::Status Unfold(grpc::ByteBuffer& bytes, int64_t max_bytes) {
  const auto folded = static_cast<int64_t>(bytes.Length());
  max_bytes = std::min(max_bytes, std::max(kMostUnfoldedFreely, kMostRatio * folded));
  if (!IsGzip(FirstBytes(bytes, kGzipMagicBytes))) return absl::OkStatus();
  const std::string compressed = FirstBytes(bytes, bytes.Length());
  bytes.Clear();
  ASSIGN_OR_RETURN(std::string unfolded, Gunzip(compressed, static_cast<size_t>(max_bytes)));
  bytes = BufferOf(std::move(unfolded));
  return absl::OkStatus();
}

absl::Status ParseMessage(grpc::ByteBuffer& bytes, google::protobuf::Message& message) {
  const bool parsed =
      grpc::GenericDeserialize<grpc::ProtoBufferReader, google::protobuf::Message>(&bytes, &message).ok();
  bytes.Clear();
  if (parsed) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the message cannot be parsed as ", message.GetDescriptor()->full_name()));
}

absl::StatusOr<v1::ClassifyRequest> ParseRequest(grpc::ByteBuffer& bytes) {
  v1::ClassifyRequest request;
  RETURN_IF_ERROR(ParseMessage(bytes, request));
  return request;
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

grpc::ByteBuffer ToBytes(const google::protobuf::Message& message) {
  grpc::ByteBuffer bytes;
  bool own_buffer = false;
  const grpc::Status status =
      grpc::GenericSerialize<grpc::ProtoBufferWriter, google::protobuf::Message>(message, &bytes, &own_buffer);
  if (!status.ok()) bytes.Clear();
  return bytes;
}

}  // namespace vitrine
