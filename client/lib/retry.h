// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_RETRY_H_
#define VITRINE_CLIENT_LIB_RETRY_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace vitrine {

struct RetryOptions {
  // Maximum attempts per request, 1 to 20. 1: no retry. With these defaults, attempts continue for about the default
  // deadline of ClientOptions.
  int max_attempts = 15;
  // Wait before the second attempt; doubles with each further attempt, up to `max_backoff`. The actual wait is random
  // between half of it and all of it, so that clients rejected together do not retry together.
  absl::Duration initial_backoff = absl::Milliseconds(100);
  absl::Duration max_backoff = absl::Seconds(5);

  absl::Status Validate() const;
};

// Returns the wait before the next attempt; nullopt: no retry. `attempts` have been made; the last ended with `status`.
// Pure.
//
// UNAVAILABLE is retried. RESOURCE_EXHAUSTED is retried only with a delay from the server: without a delay, the request
// itself is too large. The wait is at least the server's delay, extended by up to a fifth. There is no retry if the
// wait would reach `remaining`. `uniform` is a random number in [0, 1).
std::optional<absl::Duration> RetryDelay(const absl::Status& status, int attempts, absl::Duration remaining,
                                         double uniform, const RetryOptions& options);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_RETRY_H_
