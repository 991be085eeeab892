// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_OUTLINE_H_
#define VITRINE_SERVER_WIRE_RPC_OUTLINE_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Of a picture. The headers of most end before the first; a thumbnail, a profile of colours or somebody's notes stand
// before the end of others.
inline constexpr size_t kFirstLookBytes = size_t{2} << 10;
inline constexpr size_t kSecondLookBytes = size_t{16} << 10;

// What of a ClassifyRequest is enough to plan it and to refuse it, without a copy of its picture.
struct Outline {
  // With the front of the picture, or the form of the tensor without its data.
  v1::ClassifyRequest request;
  int64_t left_out = 0;  // bytes of the picture or of the data
};

// With so many bytes of the picture at most. Nothing where the message holds more than one picture or tensor, more than
// kMostBesideBytes beside it, or cannot be parsed: then the whole has to be read. That there is an outline does not
// promise that the whole can be parsed: numbers that take more bytes than they need are read here and refused there.
// Leaves `bytes` as they are. std::bad_alloc without memory.
std::optional<Outline> OutlineOf(grpc::ByteBuffer& bytes, size_t picture_bytes);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_OUTLINE_H_
