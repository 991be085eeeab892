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

// Messages are read by one walk over the bytes that were received: large fields of bytes stay where they are,
// everything else is parsed by protobuf. The result is what protobuf would make of the whole.

// A ModelInfer request whose raw contents are not copied out of what was received.
struct ReceivedInfer {
  inference::ModelInferRequest message = {};  // without raw_input_contents
  std::vector<std::string_view> raw = {};     // raw_input_contents, of which the first kMostRawContents are kept
  MessageBytes owner = nullptr;               // of what `raw` views
};
// A request that has more than one is refused.
inline constexpr size_t kMostRawContents = 2;

// INVALID_ARGUMENT if the bytes are no such message ("the message cannot be parsed as vitrine.v1.ClassifyRequest"), or
// hold more beside the picture than any request needs. Thread-safe.
absl::StatusOr<ReceivedClassify> ReadClassify(MessageBytes bytes);
absl::StatusOr<ReceivedInfer> ReadInfer(MessageBytes bytes);

// The request_id of a ClassifyRequest, and the id of a ModelInferRequest, as far as the bytes can be read: a stream's
// answer to a malformed message names its request by it. Empty if there is none.
std::string RequestIdOf(std::string_view classify_request);
std::string InferIdOf(std::string_view infer_request);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_MESSAGE_READ_MESSAGE_H_
