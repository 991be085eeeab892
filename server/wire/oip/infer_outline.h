// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_INFER_OUTLINE_H_
#define VITRINE_SERVER_WIRE_OIP_INFER_OUTLINE_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "inference/grpc_service.pb.h"

namespace vitrine {

// What of a ModelInferRequest of one picture is enough to plan it and to refuse it, as wire/rpc/outline.h has it of a
// ClassifyRequest.
struct InferOutline {
  // raw_input_contents holds the front of the picture as if that were all of it, or nothing of a tensor.
  inference::ModelInferRequest request;
  bool is_picture = false;
  int64_t left_out = 0;  // bytes of the picture or tensor
};

// With so many bytes of the picture at most. Nothing where there are several pictures, where they lie elsewhere than in
// raw_input_contents or as base64, or the message is wrong in a way that is seen here: then the whole has to be read.
// Leaves `bytes` as they are. std::bad_alloc without memory.
std::optional<InferOutline> InferOutlineOf(grpc::ByteBuffer& bytes, size_t picture_bytes);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_INFER_OUTLINE_H_
