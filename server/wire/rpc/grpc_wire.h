// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_GRPC_WIRE_H_
#define VITRINE_SERVER_WIRE_RPC_GRPC_WIRE_H_

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/http/head.h"

namespace vitrine {

// Encodings of gRPC over HTTP/2, as specified in doc/PROTOCOL-HTTP2.md of grpc/grpc. Thread-safe.

// Returns true for every gRPC content type: "application/grpc...".
bool IsGrpcType(std::string_view content_type);
// Returns true for the supported content types: application/grpc and application/grpc+proto, with or without
// parameters.
bool IsProtobufType(std::string_view content_type);

// Returns the value of a grpc-message: "%" and everything except printable ASCII become %XX. Truncated to
// kMaxGrpcMessageBytes, because clients reject trailers of more than 8 KiB.
inline constexpr size_t kMaxGrpcMessageBytes = 4096;
std::string PercentEncoded(std::string_view message);

// Parses a grpc-timeout: 1 to 8 digits and one of H, M, S, m, u, n. A value with more digits means no timeout, as in
// gRPC's own servers. Returns nullopt if the value is malformed.
std::optional<absl::Duration> ParseGrpcTimeout(std::string_view value);

// Returns the values of the metadata `name`, in the order received.
std::vector<std::string> MetadataOf(const HttpHead& head, std::string_view name);
// Returns the decoded values of the metadata `name`, which must end in "-bin". The values are base64, with or without
// padding. A header may have several values, separated by commas. INVALID_ARGUMENT: a value is not base64.
absl::StatusOr<std::vector<std::string>> BinaryMetadataOf(const HttpHead& head, std::string_view name);
// Returns `bytes` in the encoding for metadata whose name ends in "-bin": base64 without padding.
std::string BinaryValue(std::string_view bytes);

// Returns true if `list`, as in grpc-accept-encoding, contains `encoding`.
bool HasEncoding(std::string_view list, std::string_view encoding);

// Size of the prefix of each message: the compressed flag and the length.
inline constexpr size_t kGrpcPrefixBytes = 5;
// Returns the uncompressed message with its prefix; empty if it exceeds protobuf's limit of 2 GiB.
std::string GrpcFrame(const google::protobuf::MessageLite& message);
// A message that is already serialized.
struct EncodedMessage {
  std::string bytes;
};
std::string GrpcFrame(const EncodedMessage& message);
// Returns the frame with its message compressed by gzip; returns the frame unchanged if compression does not make it
// smaller.
std::string GzipFrame(std::string frame);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_GRPC_WIRE_H_
