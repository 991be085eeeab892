// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_RETRY_H_
#define VITRINE_CLIENT_LIB_RETRY_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace vitrine {

struct RetryOptions {
  // Maximum attempts per request, 1 to 20. 1: no retry. With the default values, the attempts continue for about the
  // default deadline of ClientOptions.
  int max_attempts = 15;
  // Wait before the second attempt. Doubles with each further attempt, up to `max_backoff`. The actual wait is
  // random, 50 to 100 % of this time, so that clients that were rejected together do not retry together.
  absl::Duration initial_backoff = absl::Milliseconds(100);
  absl::Duration max_backoff = absl::Seconds(5);

  absl::Status Validate() const;
};

// Returns the wait before the next attempt; nullopt: no retry. `attempts` is the number of attempts made, and `status`
// is the result of the last attempt. Pure.
//
// UNAVAILABLE is retried. RESOURCE_EXHAUSTED is retried only if the server gave a delay; without a delay, it means that
// the request is too large. The wait is at least the server's delay, plus a random part of up to a fifth of this delay.
// There is no retry if the wait would reach `remaining`. `uniform` is a random number in [0, 1).
std::optional<absl::Duration> RetryDelay(const absl::Status& status, int attempts, absl::Duration remaining,
                                         double uniform, const RetryOptions& options);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_RETRY_H_
