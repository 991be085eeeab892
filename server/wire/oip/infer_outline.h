// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_INFER_OUTLINE_H_
#define VITRINE_SERVER_WIRE_OIP_INFER_OUTLINE_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <optional>

#include "inference/grpc_service.pb.h"
#include "server/wire/rpc/outline.h"

namespace vitrine {

// Of a request of one picture, with so many bytes of it at most: raw_input_contents holds the front of the picture as
// if that were all of it, or nothing of a tensor. Nothing where there are several pictures, where they lie elsewhere
// than in raw_input_contents or as base64, or the message is wrong in a way that is seen here: then the whole has to be
// read. Leaves `bytes` as they are. std::bad_alloc without memory.
std::optional<Outline<inference::ModelInferRequest>> InferOutlineOf(grpc::ByteBuffer& bytes, size_t picture_bytes);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_INFER_OUTLINE_H_
