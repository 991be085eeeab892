// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_MESSAGE_READ_MESSAGE_H_
#define VITRINE_SERVER_WIRE_MESSAGE_READ_MESSAGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/grpc_service.pb.h"
#include "server/serve/request/received.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Functions that walk once over the received bytes of a message: large fields of the type bytes stay in place, and
// protobuf parses the other fields afterwards. Within the limits below, the result equals the result of protobuf's
// parser.

// A ModelInfer request whose raw contents stay in the receive buffer.
struct ReceivedInfer {
  inference::ModelInferRequest message = {};  // all fields except raw_input_contents
  std::vector<std::string_view> raw = {};     // raw_input_contents, only the first kMostRawContents
  MessageBytes owner = nullptr;               // owner of the bytes in `raw`
  BudgetShare parsed = {};                    // share of a large `message` in the budget of received bytes
};
// Maximum number of raw contents that are kept. A valid request has at most one; SplitInput rejects a request with two.
inline constexpr size_t kMostRawContents = 2;

// Parse a message. INVALID_ARGUMENT: the bytes are not a message of this type ("the message cannot be parsed as
// vitrine.v1.ClassifyRequest"), or have more bytes besides the image than any request needs. Thread-safe.
absl::StatusOr<ReceivedClassify> ReadClassify(MessageBytes bytes);
absl::StatusOr<ReceivedInfer> ReadInfer(MessageBytes bytes);

// Returns true if ReadInfer may take more than a millisecond, because the message has many bytes besides raw contents.
// Such a message must not be read on a connection's thread.
bool IsSlowInfer(std::string_view infer_request);

// Return the request_id of a ClassifyRequest and the id of a ModelInferRequest; empty if there is none. Malformed
// messages are read as far as possible, because the error answer on a stream must contain the id.
std::string RequestIdOf(std::string_view classify_request);
std::string InferIdOf(std::string_view infer_request);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_MESSAGE_READ_MESSAGE_H_
