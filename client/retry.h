// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_RETRY_H_
#define VITRINE_CLIENT_RETRY_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace vitrine {

struct RetryOptions {
  // How often one request is sent in all, 1 to 20. 1 never retries. With these waits a server may be away for about as
  // long as the deadline of ClientOptions, which then ends the waiting.
  int max_attempts = 15;
  // Wait before the second attempt, doubled for each further one up to `max_backoff`; at random between half of it and
  // all of it, so that callers who were refused together do not come back together.
  absl::Duration initial_backoff = absl::Milliseconds(100);
  absl::Duration max_backoff = absl::Seconds(5);

  absl::Status Validate() const;
};

// How long to wait before asking again, after `attempts` attempts of which the last ended with `status`; nullopt: not
// again. Pure.
//
// UNAVAILABLE is worth another attempt. RESOURCE_EXHAUSTED is one only if the server said when to come back: without
// that the request itself is too large. The server's delay is a lower bound and is stretched by up to a fifth. A wait
// that would use up `remaining` is not begun. `uniform` is a random number in [0, 1).
std::optional<absl::Duration> RetryDelay(const absl::Status& status, int attempts, absl::Duration remaining,
                                         double uniform, const RetryOptions& options);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_RETRY_H_
