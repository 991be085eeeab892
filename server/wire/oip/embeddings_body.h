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

// A request for embeddings in OpenAI's form, as a request of the Open Inference Protocol: its input holds base64, its
// one output is the embedding.
struct EmbeddingsRequest {
  ReceivedInfer infer = {};
  bool wants_base64 = false;  // little-endian float32 as base64, in place of numbers
};

// Reads a body:
//   model            name; required
//   input            a picture or several, at most 64: strings of base64 or data URLs; required
//   encoding_format  "float" (default) or "base64"
//   user             ignored
// and of this server's own: `version` (number or label), `kind` ("class" or "mean"; default the model's first vector)
// and `normalize` (default true, as OpenAI's vectors are). INVALID_ARGUMENT for anything else, `dimensions` too: its
// sentence names the member. A member that is null is as one that is absent.
absl::StatusOr<EmbeddingsRequest> ReadEmbeddings(std::string_view body);

// The answer's body: {"object": "list", "data": [{"object": "embedding", "index", "embedding", "model", "version",
// "weights_sha256"}], "model", "usage": {"prompt_tokens", "total_tokens"}}. Tokens are patches of the pictures.
// Requires an answer to a request of ReadEmbeddings.
std::string WriteEmbeddings(const inference::ModelInferResponse& response, bool wants_base64);

// {"error": {"message", "type", "param", "code"}}, as OpenAI's clients read refusals.
std::string OpenAiErrorBody(const absl::Status& status);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_EMBEDDINGS_BODY_H_
