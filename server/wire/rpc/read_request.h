// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_READ_REQUEST_H_
#define VITRINE_SERVER_WIRE_RPC_READ_REQUEST_H_

#include <grpcpp/support/byte_buffer.h>

#include "absl/status/statusor.h"
#include "server/serve/request/classify_service.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// The message for ClassifyService::Classify; `bytes` are given up. While the server refuses what would come too late,
// one that it would refuse as well is not read further than that takes: the outline is returned, and call.refusal says
// why. Requires that call.caller is authorized. Errors as ParseRequest's.
absl::StatusOr<v1::ClassifyRequest> ReadRequest(ClassifyService& service, grpc::ByteBuffer& bytes, CallContext& call);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_READ_REQUEST_H_
