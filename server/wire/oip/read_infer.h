// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_READ_INFER_H_
#define VITRINE_SERVER_WIRE_OIP_READ_INFER_H_

#include <grpcpp/support/byte_buffer.h>

#include "absl/status/statusor.h"
#include "inference/grpc_service.pb.h"
#include "server/serve/request/classify_service.h"

namespace vitrine {

// The message for Infer; `bytes` are given up. What ReadRequest (wire/rpc/read_request.h) is for a ClassifyRequest:
// while the server refuses what would come too late, a request of one picture that it would refuse as well is returned
// as its outline, and call.refusal says why. Requires that call.caller is authorized. Errors as ParseInferRequest's.
absl::StatusOr<inference::ModelInferRequest> ReadInfer(ClassifyService& service, grpc::ByteBuffer& bytes,
                                                       CallContext& call);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_READ_INFER_H_
