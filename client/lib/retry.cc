// SPDX-License-Identifier: Apache-2.0
#include "client/lib/retry.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "client/lib/status.h"

namespace vitrine {

absl::Status RetryOptions::Validate() const {
  if (max_attempts < 1 || max_attempts > 20) {
    return absl::InvalidArgumentError(absl::StrCat("max_attempts is ", max_attempts, ", must be 1 to 20"));
  }
  if (initial_backoff <= absl::ZeroDuration() || max_backoff < initial_backoff) {
    return absl::InvalidArgumentError(absl::StrCat("initial_backoff is ", absl::FormatDuration(initial_backoff),
                                                   " and max_backoff ", absl::FormatDuration(max_backoff),
                                                   "; initial_backoff must be positive and at most max_backoff"));
  }
  return absl::OkStatus();
}

std::optional<absl::Duration> RetryDelay(const absl::Status& status, int attempts, absl::Duration remaining,
                                         double uniform, const RetryOptions& options) {
  const std::optional<absl::Duration> asked = ServerRetryDelay(status);
  const bool worth_it = absl::IsUnavailable(status) || (absl::IsResourceExhausted(status) && asked.has_value());
  if (!worth_it || attempts >= options.max_attempts) return std::nullopt;

  const absl::Duration backoff =
      std::min(options.initial_backoff * std::exp2(std::max(0, attempts - 1)), options.max_backoff);
  absl::Duration delay = backoff * (0.5 + 0.5 * uniform);
  if (asked.has_value()) delay = std::max(delay, *asked * (1 + 0.2 * uniform));
  if (delay >= remaining) return std::nullopt;
  return delay;
}

}  // namespace vitrine
