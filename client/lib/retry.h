// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_RETRY_H_
#define VITRINE_CLIENT_LIB_RETRY_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace vitrine {

struct RetryOptions {
  // Maximum attempts per request, 1 to 20. 1: no retry. With these defaults, attempts continue for about the deadline
  // of ClientOptions, which ends them.
  int max_attempts = 15;
  // Wait before the second attempt, doubled for each further one up to `max_backoff`; random between half of it and all
  // of it, so that clients rejected together do not retry together.
  absl::Duration initial_backoff = absl::Milliseconds(100);
  absl::Duration max_backoff = absl::Seconds(5);

  absl::Status Validate() const;
};

// Returns the wait before the next attempt, after `attempts` attempts of which the last ended with `status`; nullopt:
// no retry. Pure.
//
// UNAVAILABLE is retried. RESOURCE_EXHAUSTED is retried only with a delay from the server: without one the request
// itself is too large. The server's delay is a lower bound and is extended by up to a fifth. nullopt if the wait would
// exceed `remaining`. `uniform` is a random number in [0, 1).
std::optional<absl::Duration> RetryDelay(const absl::Status& status, int attempts, absl::Duration remaining,
                                         double uniform, const RetryOptions& options);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_RETRY_H_
