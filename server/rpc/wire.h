// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_RPC_WIRE_H_
#define VITRINE_SERVER_RPC_WIRE_H_

#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "absl/status/statusor.h"
#include "inference/grpc_service.pb.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// The message in `bytes`, which are given up. INVALID_ARGUMENT if they are no ClassifyRequest. Throws std::bad_alloc,
// and leaves them, if there is no memory for it.
absl::StatusOr<v1::ClassifyRequest> ParseRequest(grpc::ByteBuffer& bytes);

// The same for a request of the Open Inference Protocol.
absl::StatusOr<inference::ModelInferRequest> ParseInferRequest(grpc::ByteBuffer& bytes);

// The request_id of a ClassifyRequest, which takes no memory but its own: an answer can be given whether or not there
// is any for the rest. Empty if there is none. Leaves `bytes` as they are.
std::string RequestIdOf(grpc::ByteBuffer& bytes);

// The message as bytes for the transport.
grpc::ByteBuffer ToBytes(const v1::ClassifyResponse& response);
grpc::ByteBuffer ToBytes(const v1::ClassifyStreamResponse& response);
grpc::ByteBuffer ToBytes(const inference::ModelInferResponse& response);
grpc::ByteBuffer ToBytes(const inference::ModelStreamInferResponse& response);

}  // namespace vitrine

#endif  // VITRINE_SERVER_RPC_WIRE_H_
