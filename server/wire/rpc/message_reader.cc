// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/message_reader.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/gunzip.h"
#include "common/http/body.h"
#include "common/status_macros.h"
#include "server/process/shed.h"
#include "server/wire/rpc/calls.h"
#include "server/wire/rpc/grpc_status.h"

namespace vitrine {
namespace {

// Limits of decompression, which runs before admission control. The compression ratio of real messages is lower than
// kMostRatio.
constexpr int64_t kMostFree = int64_t{64} << 10;
constexpr int64_t kMostRatio = 64;
constexpr absl::Duration kNoRoomRetry = absl::Seconds(1);

absl::Status NoRoom() {
  return ShedError(ShedReason::kBytes, "the server has as many received bytes in memory as its limit allows",
                   kNoRoomRetry);
}

}  // namespace

absl::StatusOr<std::optional<MessageReader::Message>> MessageReader::Take(absl::string_view& bytes) {
  if (received_ == nullptr) {
    const size_t taken = std::min(bytes.size(), kGrpcPrefixBytes - prefix_size_);
    std::copy_n(bytes.data(), taken, prefix_.data() + prefix_size_);
    bytes.remove_prefix(taken);
    prefix_size_ += taken;
    if (prefix_size_ < kGrpcPrefixBytes) return std::nullopt;
    RETURN_IF_ERROR(BeginMessage());
  }
  std::string& whole = received_->bytes;
  const size_t taken = std::min(bytes.size(), length_ - whole.size());
  if (!MakeRoom(whole, taken, length_, received_->share)) return NoRoom();
  whole.append(bytes.data(), taken);
  bytes.remove_prefix(taken);
  if (whole.size() < length_) return std::nullopt;
  prefix_size_ = 0;
  return Message{.received = std::move(received_), .is_compressed = prefix_[0] != 0 && length_ > 0};
}

absl::Status MessageReader::BeginMessage() {
  length_ = 0;
  for (size_t i = 1; i < kGrpcPrefixBytes; ++i) length_ = length_ << 8 | static_cast<unsigned char>(prefix_[i]);
  const int flag = static_cast<unsigned char>(prefix_[0]);
  if (flag > 1) return GrpcProtocolError(absl::StrCat("Bad GRPC frame type 0x", absl::Hex(flag, absl::kZeroPad2)));
  if (flag == 1 && !takes_gzip_) {
    return GrpcProtocolError("the compressed flag of a message is set, but grpc-encoding names no compression");
  }
  if (length_ > static_cast<size_t>(max_bytes_)) {  // the error text of gRPC's library, then the source of the limit
    return TooLargeError(
        absl::StrCat("Received message larger than max (", length_, " vs. ", max_bytes_,
                     "); this is the server's limit of a request, ",
                     max_bytes_ == kMaxPlainMessageBytes ? "without an image" : "--max-message-bytes"));
  }
  received_ = std::make_shared<ReceivedBytes>(ReceivedBytes{.bytes = {}, .share = BudgetShare(budget_)});
  return absl::OkStatus();
}

absl::StatusOr<MessageBytes> Decompressed(const ReceivedBytes& compressed, int64_t max_bytes,
                                          const std::shared_ptr<ByteBudget>& budget) {
  const auto size = static_cast<int64_t>(compressed.bytes.size());
  const int64_t most = std::min(max_bytes, std::max(kMostFree, kMostRatio * size));
  // The size in the gzip trailer counts against the budget in advance, because Gunzip decompresses no more than this
  // size.
  BudgetShare share(budget);
  if (!share.Add(std::min(most, static_cast<int64_t>(StatedGunzipSize(compressed.bytes))))) return NoRoom();
  ASSIGN_OR_RETURN(std::string bytes, Gunzip(compressed.bytes, static_cast<size_t>(most)));
  return std::make_shared<const ReceivedBytes>(ReceivedBytes{.bytes = std::move(bytes), .share = std::move(share)});
}

}  // namespace vitrine
