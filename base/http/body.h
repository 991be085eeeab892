// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_BODY_H_
#define VITRINE_BASE_HTTP_BODY_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/http/byte_budget.h"
#include "base/http/exchange.h"

namespace vitrine {

// RESOURCE_EXHAUSTED for a body or message that is larger than the limit, however free the server is: HTTP answers 413.
absl::Status TooLargeError(absl::string_view message);
bool IsTooLarge(const absl::Status& status);

// RESOURCE_EXHAUSTED for a body that finds no room in the budget of received bytes.
absl::Status NoRoomError();

// Checks what the head says of the body. INVALID_ARGUMENT for a Content-Encoding other than gzip and identity, or, with
// `needs_length`, neither Content-Length nor chunks; TooLargeError.
absl::Status CheckAnnouncedBody(const HttpRequest& request, int64_t max_bytes, bool needs_length);

// A body as it was received, to be handed to HttpNext::WithBody on a worker thread.
struct ReceivedBody {
  absl::StatusOr<std::string> bytes;
  BudgetShare share;  // of the budget of received bytes
};

// Calls `with_body` with the body, decompressed first if the request says that it is gzip.
void HandOver(ReceivedBody body, const HttpRequest& request, int64_t max_bytes, const HttpNext::WithBody& with_body,
              std::shared_ptr<HttpReply> reply);

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_BODY_H_
