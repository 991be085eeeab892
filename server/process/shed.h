// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_SHED_H_
#define VITRINE_SERVER_PROCESS_SHED_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/process/shed_reason.h"

namespace vitrine {

// The refusal of a request because of load: RESOURCE_EXHAUSTED with the reason, the sentence, and when to come back.
// The sentence gains "; try again in ...". The time is held between 10 ms and 30 s: an earlier retry costs more than it
// brings, and a prediction beyond is a guess.
absl::Status ShedError(ShedReason reason, std::string sentence, absl::Duration retry_after);

// When a refused request should come back; nothing where a status carries no such advice.
std::optional<absl::Duration> RetryAfter(const absl::Status& status);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_SHED_H_
