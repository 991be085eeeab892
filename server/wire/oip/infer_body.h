// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_INFER_BODY_H_
#define VITRINE_SERVER_WIRE_OIP_INFER_BODY_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "inference/grpc_service.pb.h"
#include "server/wire/message/read_message.h"
#include "server/wire/oip/parse_json.h"

namespace vitrine {

// An inference request in the protocol's REST form.
struct HttpInferRequest {
  ReceivedInfer infer = {};                 // `infer.owner` owns the bytes that `infer.raw` refers to
  bool binary_by_default = false;           // value of the parameter binary_data_output
  std::map<std::string, bool> binary = {};  // value of the parameter binary_data of each output
};

// Parses a body. `json_bytes` is the value of Inference-Header-Content-Length: the length of the JSON; the inputs'
// binary data follow it. Unset: the whole body is JSON. Zero: the whole body is one image (Triton's raw binary
// request). Does not set model and version, which are in the path. INVALID_ARGUMENT names the fault and its position.
// Needs memory of at most about 20 times the JSON's size plus 4 times the size of its long strings. Binary data are
// copied only if they are shorter than the JSON. A null member counts as absent.
absl::StatusOr<HttpInferRequest> ReadInferBody(std::string body, std::optional<size_t> json_bytes);

// The body of an answer.
struct HttpInferBody {
  std::string bytes;
  std::optional<size_t> json_bytes;  // length of the JSON; set if binary data follow it
};
HttpInferBody WriteInferBody(const inference::ModelInferResponse& response, const HttpInferRequest& request);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_INFER_BODY_H_
