// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_SHED_H_
#define VITRINE_SERVER_PROCESS_SHED_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace vitrine {

// Reason for rejecting a request because of load: the label `reason` of vitrine_requests_shed_total (see
// docs/reference/metrics.md).
enum class ShedReason : int {
  kRequests = 0,  // the server's limit on requests is reached
  kBytes,         // the server's limit on bytes is reached
  kWait,          // the predicted latency exceeds the server's limit
  kDeadline,      // the predicted latency exceeds the deadline
  kModel,         // the model's limit is reached
  kShare,         // the caller's share of a limit is used up, or its turn among the callers comes too late
  kQuota,         // the caller's quota is used up
  kAnswers,       // the budget of unread answers is used up
  kMemory,        // the device had no memory for the batch
};
inline constexpr int kShedReasons = 9;

// Returns the label of a reason: "requests", "bytes", ...
const char* ShedReasonName(ShedReason reason);

// Returns RESOURCE_EXHAUSTED with the reason, the sentence and the retry delay, for a request rejected because of load.
// Appends "; try again in ..." to the sentence. Limits the delay to the range 10 ms to 30 s: an earlier retry would
// mostly cause extra work, and a longer prediction is not reliable.
absl::Status ShedError(ShedReason reason, std::string sentence, absl::Duration retry_after);

// Returns the reason in a status made by ShedError, for counting the rejection; nullopt for other statuses.
std::optional<ShedReason> ShedReasonOf(const absl::Status& status);
// Returns the retry delay in a status; nullopt if the status has no delay.
std::optional<absl::Duration> RetryAfter(const absl::Status& status);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_SHED_H_
