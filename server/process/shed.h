// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_SHED_H_
#define VITRINE_SERVER_PROCESS_SHED_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace vitrine {

// Why a request was refused because of load: labels of vitrine_requests_shed_total{reason}, see
// docs/reference/metrics.md.
enum class ShedReason : int {
  kRequests = 0,  // the server holds its most requests
  kBytes,         // the server holds its most bytes
  kWait,          // the answer would take longer than the server's limit
  kDeadline,      // the answer would come after the deadline
  kModel,         // the model's own limit
  kShare,         // the caller has its fair share while others wait
  kQuota,         // the caller's quota
  kAnswers,       // the budget of answers that nobody has taken yet
  kMemory,        // the process has no memory left for it
};
inline constexpr int kShedReasons = 9;

// The label of a reason: "requests", "bytes", ...
const char* ShedReasonName(ShedReason reason);

// The refusal of a request because of load: RESOURCE_EXHAUSTED with the reason, the sentence, and when to come back.
// The sentence gains "; try again in ...". The time is held between 10 ms and 30 s: an earlier retry costs more than it
// brings, and a prediction beyond is a guess.
absl::Status ShedError(ShedReason reason, std::string sentence, absl::Duration retry_after);

// The reason of such a refusal, by which it is counted where the request ends; nothing for another status.
std::optional<ShedReason> ShedReasonOf(const absl::Status& status);
// When a refused request should come back; nothing where a status carries no such advice.
std::optional<absl::Duration> RetryAfter(const absl::Status& status);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_SHED_H_
