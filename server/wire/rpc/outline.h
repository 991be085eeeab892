// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_OUTLINE_H_
#define VITRINE_SERVER_WIRE_RPC_OUTLINE_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <optional>

#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Of a picture, and of everything beside it. Headers end before it but where they hold a thumbnail.
inline constexpr size_t kOutlineBytes = size_t{16} << 10;

// A ClassifyRequest with the first bytes of its picture alone: enough to plan it and to refuse it without a copy of the
// picture. Nothing where the message has a tensor, where that is more than twice kOutlineBytes or cannot be parsed:
// then the whole has to be read. That there is an outline does not promise that the whole can be parsed: numbers that
// take more bytes than they need are read here and refused there. Leaves `bytes` as they are. std::bad_alloc without
// memory.
std::optional<v1::ClassifyRequest> OutlineOf(grpc::ByteBuffer& bytes);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_OUTLINE_H_
