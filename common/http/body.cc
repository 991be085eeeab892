// SPDX-License-Identifier: Apache-2.0
#include "common/http/body.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/gunzip.h"

namespace vitrine {
namespace {

// Sizes of the buffer for a body of announced length, while few of its bytes have arrived. They are small, so that a
// client that sends few bytes occupies little memory. The first size is a DATA frame of HTTP/2. A full buffer grows to
// kRoomFactor times the received bytes, at most kLastRoom. So an image of 110 KB in such frames is copied once, after
// the first frame.
constexpr size_t kFirstRoom = size_t{16} << 10;
constexpr size_t kRoomFactor = 8;
constexpr size_t kLastRoom = size_t{256} << 10;
constexpr size_t kHugePage = size_t{2} << 20;

constexpr char kTooLargeUrl[] = "vitrine/too-large";

bool HasEncoding(const HttpRequest& request, absl::string_view encoding) {
  return absl::EqualsIgnoreCase(request.Header("Content-Encoding").value_or("identity"), encoding);
}

absl::StatusOr<std::string> DecompressDeflate(const ReceivedBody& body, int64_t max_bytes, BudgetShare& share) {
  const absl::StatusOr<size_t> size = SizeOfInflated(*body.bytes, static_cast<size_t>(max_bytes));
  if (absl::IsResourceExhausted(size.status())) return TooLargeError(size.status().message());
  if (!size.ok()) return size.status();
  if (!share.Add(static_cast<int64_t>(*size))) return NoRoomError();
  return Inflate(*body.bytes, *size);
}

absl::StatusOr<std::string> DecompressGzip(const ReceivedBody& body, int64_t max_bytes, BudgetShare& share) {
  const auto stated = static_cast<int64_t>(StatedGunzipSize(*body.bytes));
  if (!share.Add(std::min(stated, max_bytes))) return NoRoomError();
  absl::StatusOr<std::string> whole = Gunzip(*body.bytes, static_cast<size_t>(max_bytes));
  return absl::IsResourceExhausted(whole.status()) ? TooLargeError(whole.status().message()) : std::move(whole);
}

}  // namespace

absl::Status TooLargeError(absl::string_view message) {
  absl::Status status = absl::ResourceExhaustedError(message);
  status.SetPayload(kTooLargeUrl, absl::Cord());
  return status;
}

bool IsTooLarge(const absl::Status& status) {
  return status.GetPayload(kTooLargeUrl).has_value();
}

absl::Status NoRoomError() {
  return absl::ResourceExhaustedError("too many large requests are in flight; retry in a moment");
}

bool MakeRoom(std::string& buffer, size_t more, std::optional<size_t> length, BudgetShare& share) {
  const size_t room = buffer.size() + more;
  size_t capacity = buffer.capacity(), counted = room;
  if (!length.has_value()) {
    if (capacity < room) capacity = std::max(room, 2 * capacity);
    counted = capacity;
  } else if (room <= kLastRoom) {
    const size_t larger = room <= kFirstRoom ? kFirstRoom : std::min(kRoomFactor * room, kLastRoom);
    if (capacity < room) capacity = std::max(room, std::min(larger, *length));
    counted = capacity;
  } else {
    // From here, the buffer grows only once, to the full size: a buffer that grows by doubling leaves holes in the
    // heap. Pages that are not written use no memory, but a write may make a whole huge page resident. So a large body
    // counts at least as a huge page, or with its full length if that is less.
    capacity = std::max(room, *length);
    counted = std::max(room, std::min(*length, kHugePage));
  }
  if (!share.Add(static_cast<int64_t>(counted) - share.bytes())) return false;
  if (buffer.capacity() >= capacity) return true;
  std::string grown;  // reserve() of a string that has a buffer would at least double it
  grown.reserve(capacity);
  grown.append(buffer).swap(buffer);
  return true;
}

absl::Status CheckAnnouncedBody(const HttpRequest& request, int64_t max_bytes, bool needs_length) {
  if (!HasEncoding(request, "gzip") && !HasEncoding(request, "deflate") && !HasEncoding(request, "identity")) {
    return absl::InvalidArgumentError(
        "the body's Content-Encoding is not known; send it as it is, or with gzip or deflate");
  }
  const std::optional<int64_t> length = request.head.ContentLength();
  if (needs_length && !length.has_value() && !request.head.AnnouncesBody()) {
    return absl::InvalidArgumentError("the request has no Content-Length");
  }
  if (length.value_or(0) > max_bytes) {
    return TooLargeError(absl::StrCat("the body has ", *length, " bytes; at most ", max_bytes, " are read"));
  }
  return absl::OkStatus();
}

void HandOver(ReceivedBody body, const HttpRequest& request, int64_t max_bytes, const HttpHandling::WithBody& with_body,
              std::shared_ptr<HttpReply> reply) {
  if (body.bytes.ok() && HasEncoding(request, "gzip")) body.bytes = DecompressGzip(body, max_bytes, body.share);
  if (body.bytes.ok() && HasEncoding(request, "deflate")) body.bytes = DecompressDeflate(body, max_bytes, body.share);
  with_body(std::move(body.bytes), std::move(reply));
}

}  // namespace vitrine
