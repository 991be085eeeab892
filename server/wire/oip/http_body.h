// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_HTTP_BODY_H_
#define VITRINE_SERVER_WIRE_OIP_HTTP_BODY_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "inference/grpc_service.pb.h"
#include "server/wire/message/read_message.h"
#include "server/wire/oip/json_body.h"

namespace vitrine {

// An inference request of the protocol's REST form.
struct HttpInferRequest {
  ReceivedInfer infer = {};                 // its binary data are views into the body
  bool binary_by_default = false;           // parameter binary_data_output
  std::map<std::string, bool> binary = {};  // per output: parameter binary_data
};

// Reads a body. `json_bytes` is the value of Inference-Header-Content-Length: how much of it is JSON, the rest being
// the inputs' binary data; without it all is JSON, and with 0 all is one picture (Triton's raw binary request). Model
// and version are those of the path and stay empty. INVALID_ARGUMENT says what is wrong and where. Of memory it takes
// at most about twenty times the JSON, and four times its long strings; binary data are not copied. A member that is
// null is as one that is absent.
absl::StatusOr<HttpInferRequest> ReadInferBody(std::string body, std::optional<size_t> json_bytes);

// An answer's body.
struct HttpInferBody {
  std::string bytes;
  std::optional<size_t> json_bytes;  // set where binary data follows the JSON
};
HttpInferBody WriteInferBody(const inference::ModelInferResponse& response, const HttpInferRequest& request);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_HTTP_BODY_H_
