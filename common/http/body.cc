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
