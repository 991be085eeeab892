// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_EMBEDDINGS_BODY_H_
#define VITRINE_SERVER_WIRE_OIP_EMBEDDINGS_BODY_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/grpc_service.pb.h"
#include "server/wire/message/read_message.h"

namespace vitrine {

// A request for embeddings in OpenAI's form, translated to the Open Inference Protocol: base64 input, output
// "embedding".
struct EmbeddingsRequest {
  ReceivedInfer infer = {};
  bool wants_base64 = false;  // true: vectors as base64 of little-endian float32; false: as numbers
};

// Parses a body:
//   model            name; required
//   input            one image or several, at most 64: strings of base64 or data URLs; required
//   encoding_format  "float" (default) or "base64"
//   user             ignored
// and this server's own members: `version` (number or label), `feature` ("projection", "class" or "mean"; default: the
// first of these that the model has) and `normalize` (default true, because OpenAI's vectors are normalized).
// INVALID_ARGUMENT names any other member, including `dimensions`. A null member counts as absent.
absl::StatusOr<EmbeddingsRequest> ReadEmbeddings(std::string_view body);

// Returns the body of the answer: {"object": "list", "data": [{"object": "embedding", "index", "embedding", "model",
// "version", "weights_sha256"}], "model", "usage": {"prompt_tokens", "total_tokens"}}. Tokens are patches of the
// images. `response` must answer a request of ReadEmbeddings.
std::string WriteEmbeddings(const inference::ModelInferResponse& response, bool wants_base64);

// Converts the transport's error for a body above the size limit: adds a remedy and the member's name.
absl::Status TooLargeEmbeddings(const absl::Status& too_large);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_EMBEDDINGS_BODY_H_
