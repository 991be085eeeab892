// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_BODY_H_
#define VITRINE_COMMON_HTTP_BODY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/http/byte_budget.h"
#include "common/http/exchange.h"

namespace vitrine {

// Returns RESOURCE_EXHAUSTED for a body or message above the size limit. Unlike other RESOURCE_EXHAUSTED errors, this
// error must not be retried; IsTooLarge recognizes it. HTTP answers with 413.
absl::Status TooLargeError(absl::string_view message);
bool IsTooLarge(const absl::Status& status);

// Returns RESOURCE_EXHAUSTED for a body that does not fit into the budget of received bytes.
absl::Status NoRoomError();

// Prepares `buffer` for `more` bytes that are appended next: reserves memory and counts it in `share`. `length` is
// the announced size of the whole body or message; without it, the capacity doubles. Returns false and changes nothing
// if the budget is too small.
bool MakeRoom(std::string& buffer, size_t more, std::optional<size_t> length, BudgetShare& share);

// Checks the headers that describe the body. INVALID_ARGUMENT: a Content-Encoding other than gzip, deflate and
// identity; or, with `needs_length`, no Content-Length and no chunked encoding. TooLargeError: the announced length
// exceeds `max_bytes`.
absl::Status CheckAnnouncedBody(const HttpRequest& request, int64_t max_bytes, bool needs_length);

// A received body. It is passed to HttpHandling::WithBody on a worker thread.
struct ReceivedBody {
  absl::StatusOr<std::string> bytes;
  BudgetShare share;  // bytes of the body in the budget of received bytes
};

// Decompresses the body if the request declares gzip or deflate, then calls `with_body`. Runs on a worker thread.
void HandOver(ReceivedBody body, const HttpRequest& request, int64_t max_bytes, const HttpHandling::WithBody& with_body,
              std::shared_ptr<HttpReply> reply);

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_BODY_H_
