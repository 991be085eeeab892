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
#include "common/http/byte_budget.h"
#include "server/serve/scheduling/message_bytes.h"
#include "server/wire/rpc/grpc_wire.h"

namespace vitrine {

// Extracts the messages from the body of a gRPC request. Each message has one buffer, whose bytes count against the
// budget of received bytes as they arrive. Thread-compatible.
class MessageReader {
 public:
  struct Message {
    std::shared_ptr<ReceivedBytes> received;
    bool is_compressed = false;
  };

  // Rejects messages whose size before decompression exceeds `max_bytes`.
  // `takes_gzip`: the request declared gzip, so its messages may be compressed. `budget` may be null.
  MessageReader(int64_t max_bytes, bool takes_gzip, std::shared_ptr<ByteBudget> budget)
      : max_bytes_(max_bytes), takes_gzip_(takes_gzip), budget_(std::move(budget)) {}

  // Consumes bytes from the front of `bytes` until a message is complete or all bytes are consumed. Returns the message
  // if it is complete, otherwise nullopt. After an error the body cannot be read further. RESOURCE_EXHAUSTED: the
  // length in the prefix is too large, or the budget is used up. GrpcProtocolError: the prefix is invalid.
  absl::StatusOr<std::optional<Message>> Take(absl::string_view& bytes);

  // Returns true if a message has begun and is not complete.
  bool is_within_message() const { return prefix_size_ > 0; }

 private:
  absl::Status BeginMessage();

  const int64_t max_bytes_;
  const bool takes_gzip_;
  const std::shared_ptr<ByteBudget> budget_;
  std::array<char, kGrpcPrefixBytes> prefix_ = {};
  size_t prefix_size_ = 0;                   // number of received bytes of the prefix
  size_t length_ = 0;                        // message length, known once the prefix is complete
  std::shared_ptr<ReceivedBytes> received_;  // received bytes; null until the prefix is complete
};

// Decompresses a message; the result counts against the budget. RESOURCE_EXHAUSTED: the result is larger than
// `max_bytes`, larger than both 64 KiB and 64 times the compressed size, or exceeds the budget. INVALID_ARGUMENT: the
// data are corrupt. Takes milliseconds, so do not call it on a connection's thread. Thread-safe.
absl::StatusOr<MessageBytes> Decompressed(const ReceivedBytes& compressed, int64_t max_bytes,
                                          const std::shared_ptr<ByteBudget>& budget);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_MESSAGE_READER_H_
