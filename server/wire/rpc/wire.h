// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_WIRE_H_
#define VITRINE_SERVER_WIRE_RPC_WIRE_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// How messages are read and written. Whatever finds no memory throws std::bad_alloc.

// Makes of a message that came compressed with gzip what it unfolds to, and leaves others as they are. For every
// message before it is read: the transport is told to leave that to us, since it would unfold a message before any
// limit sees it. RESOURCE_EXHAUSTED if it unfolds to more than `max_bytes`, or to more than 64 KiB and 64 times its own
// bytes, INVALID_ARGUMENT if it is damaged; `bytes` are given up then, and where there is no memory.
absl::Status Unfold(grpc::ByteBuffer& bytes, int64_t max_bytes);

// Most that a compressed message without pictures unfolds to.
inline constexpr int64_t kMostUnfoldedNames = int64_t{64} << 10;

// Reads `bytes`, which are given up, as the message. INVALID_ARGUMENT if they are no such message. Without memory for
// it they are left.
absl::Status ParseMessage(grpc::ByteBuffer& bytes, google::protobuf::Message& message);

// The same for the one of Classify.
absl::StatusOr<v1::ClassifyRequest> ParseRequest(grpc::ByteBuffer& bytes);

// The request_id of a ClassifyRequest, which takes no memory but its own: an answer can be given whether or not there
// is any for the rest. Empty if there is none. Leaves `bytes` as they are.
std::string RequestIdOf(grpc::ByteBuffer& bytes);

// The message as bytes for the transport.
grpc::ByteBuffer ToBytes(const google::protobuf::Message& message);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_WIRE_H_
