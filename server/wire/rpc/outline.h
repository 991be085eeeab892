// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_OUTLINE_H_
#define VITRINE_SERVER_WIRE_RPC_OUTLINE_H_

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "server/serve/request/classify_service.h"
#include "server/wire/rpc/wire.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Of a picture. The headers of most end before the first; a thumbnail, a profile of colours or somebody's notes stand
// before the end of others.
inline constexpr size_t kFirstLookBytes = size_t{2} << 10;
inline constexpr size_t kSecondLookBytes = size_t{16} << 10;
// Of everything beside the picture.
inline constexpr size_t kMostBesideBytes = size_t{16} << 10;

// What of a request is enough to plan it and to refuse it, without a copy of its picture.
template <typename M>
struct Outline {
  // With the front of the picture, or the form of the tensor without its data.
  M request;
  bool is_picture = false;
  int64_t left_out = 0;  // bytes of the picture or of the data
};

// With so many bytes of the picture at most. Nothing where the message holds more than one picture or tensor, more than
// kMostBesideBytes beside it, or cannot be parsed: then the whole has to be read. That there is an outline does not
// promise that the whole can be parsed: numbers that take more bytes than they need are read here and refused there.
// Leaves `bytes` as they are. std::bad_alloc without memory.
std::optional<Outline<v1::ClassifyRequest>> OutlineOf(grpc::ByteBuffer& bytes, size_t picture_bytes);

// How a message is taken apart whose large fields are left out. What returns false has met bytes that are no message,
// or more than an outline holds.

// Reads a message to its end: the small fields, as they came, go to `beside`. Of the `large` fields one stands there,
// once at most; `read_large` reads it, as bytes whose tag has been read.
bool ReadFields(google::protobuf::io::CodedInputStream& from, std::initializer_list<int> large,
                absl::FunctionRef<bool(int field)> read_large, std::string& beside);

// Of a field of bytes, whose tag has been read, so many of the first, and how many there are beyond. With `most` 0 the
// front may be null.
bool ReadFront(google::protobuf::io::CodedInputStream& from, size_t most, std::string* front, int64_t& left_out);

// The message; `bytes` are given up. While the server refuses what would come too late, one that it would refuse as
// well is not read further than that takes: the outline that `outline_of` takes of it is returned, and call.refusal
// says why. `foresee` is ClassifyService::Foresee for what the outline asks for. Errors as ParseMessage's.
template <typename M, typename Foresee>
absl::StatusOr<M> ReadOrForesee(const ClassifyService& service, grpc::ByteBuffer& bytes, CallContext& call,
                                std::optional<Outline<M>> (*outline_of)(grpc::ByteBuffer&, size_t), Foresee foresee) {
  if (service.RefusesTheLate()) {
    for (const size_t look : {kFirstLookBytes, kSecondLookBytes}) {
      std::optional<Outline<M>> outline = outline_of(bytes, look);
      if (!outline.has_value()) break;
      const std::optional<absl::Status> foreseen = foresee(*outline);
      if (foreseen.has_value() && !foreseen->ok()) {
        call.refusal = *foreseen;
        bytes.Clear();
        return std::move(outline->request);
      }
      if (foreseen.has_value() || !outline->is_picture || outline->left_out == 0) break;
    }
  }
  M message;
  RETURN_IF_ERROR(ParseMessage(bytes, message));
  return message;
}

// The message for ClassifyService::Classify, as above. Requires that call.caller is authorized.
absl::StatusOr<v1::ClassifyRequest> ReadRequest(ClassifyService& service, grpc::ByteBuffer& bytes, CallContext& call);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_OUTLINE_H_
