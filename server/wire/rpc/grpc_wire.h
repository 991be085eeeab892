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
#include "base/http/head.h"

namespace vitrine {

// The forms of gRPC over HTTP/2: grpc/grpc, doc/PROTOCOL-HTTP2.md. Thread-safe.

// Returns true for every content type of gRPC: "application/grpc...".
bool IsGrpcType(std::string_view content_type);
// Returns true for those that are read here: application/grpc and application/grpc+proto, with parameters or without.
bool IsProtobufType(std::string_view content_type);

// The value of a grpc-message: what is not printable ASCII, and "%", as %XX. At most kMaxGrpcMessageBytes of it:
// clients refuse trailers beyond 8 KiB.
inline constexpr size_t kMaxGrpcMessageBytes = 4096;
std::string PercentEncoded(std::string_view message);

// The value of a grpc-timeout: 1 to 8 digits and one of H, M, S, m, u, n. More digits mean no timeout, as in gRPC's own
// servers. Nothing for what is none.
std::optional<absl::Duration> ParseGrpcTimeout(std::string_view value);

// The values of a name of the metadata that came, in their order.
std::vector<std::string> MetadataOf(const HttpHead& head, std::string_view name);
// The same for a name that ends in "-bin", decoded: values are base64, padded or not, and may be joined by commas.
// INVALID_ARGUMENT if one is no base64.
absl::StatusOr<std::vector<std::string>> BinaryMetadataOf(const HttpHead& head, std::string_view name);
// The value to send under such a name.
std::string BinaryValue(std::string_view bytes);

// Returns true if a list of encodings, as in grpc-accept-encoding, has that one.
bool HasEncoding(std::string_view list, std::string_view encoding);

// Before each message: a byte that says whether it is compressed, and its length.
inline constexpr size_t kGrpcPrefixBytes = 5;
// The message with its prefix, not compressed. Empty if it is beyond protobuf's limit of 2 GiB.
std::string GrpcFrame(const google::protobuf::MessageLite& message);
// The same of a message that has been written already.
struct EncodedMessage {
  std::string bytes;
};
std::string GrpcFrame(const EncodedMessage& message);
// Such a frame with its message compressed by gzip; as it is where that gains nothing.
std::string GzipFrame(std::string frame);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_GRPC_WIRE_H_
