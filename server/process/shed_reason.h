// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_SHED_REASON_H_
#define VITRINE_SERVER_PROCESS_SHED_REASON_H_

#include <optional>

#include "absl/status/status.h"

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

// Marks a refusal, so that it is counted by its reason where the request ends. Nobody else reads the mark.
void SetShedReason(absl::Status& status, ShedReason reason);
// Nothing for a status without the mark.
std::optional<ShedReason> ShedReasonOf(const absl::Status& status);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_SHED_REASON_H_
