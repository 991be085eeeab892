// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_MESSAGE_READER_H_
#define VITRINE_SERVER_WIRE_RPC_MESSAGE_READER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/http/byte_budget.h"
#include "server/serve/scheduling/message_bytes.h"
#include "server/wire/rpc/grpc_wire.h"

namespace vitrine {

// Takes the messages out of the body of a gRPC request. Each is received into one buffer, whose bytes count against the
// budget of received bytes as they come. Thread-compatible.
class MessageReader {
 public:
  struct Message {
    std::shared_ptr<ReceivedBytes> received;
    bool is_compressed = false;
  };

  // Messages of more than `max_bytes` as they come are refused. `takes_gzip`: the request has said that its messages
  // may be compressed with gzip. `budget` may be null.
  MessageReader(int64_t max_bytes, bool takes_gzip, std::shared_ptr<ByteBudget> budget)
      : max_bytes_(max_bytes), takes_gzip_(takes_gzip), budget_(std::move(budget)) {}

  // Takes bytes from the front of `bytes` until a message is whole, or all are taken. A status means that the body
  // cannot be read any further: RESOURCE_EXHAUSTED for a message that is too large, as its prefix says, or finds no
  // room in the budget; GrpcProtocolError for a prefix that breaks the protocol.
  absl::StatusOr<std::optional<Message>> Take(absl::string_view& bytes);

  // Returns true if a message has begun and is not whole.
  bool is_within_message() const { return prefix_size_ > 0; }

 private:
  absl::Status BeginMessage();

  const int64_t max_bytes_;
  const bool takes_gzip_;
  const std::shared_ptr<ByteBudget> budget_;
  std::array<char, kGrpcPrefixBytes> prefix_ = {};
  size_t prefix_size_ = 0;                   // bytes of the prefix that have come
  size_t length_ = 0;                        // of the message, once the prefix is whole
  std::shared_ptr<ReceivedBytes> received_;  // what has come of it; null before the prefix is whole
};

// Decompresses a message; the result counts against the budget. RESOURCE_EXHAUSTED if that is more than
// `max_bytes`, or than 64 KiB and 64 times its own bytes, or finds no room in the budget; INVALID_ARGUMENT if it is
// damaged. Takes milliseconds: not for a connection's thread. Thread-safe.
absl::StatusOr<MessageBytes> Decompressed(const ReceivedBytes& compressed, int64_t max_bytes,
                                          const std::shared_ptr<ByteBudget>& budget);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_MESSAGE_READER_H_
