// SPDX-License-Identifier: Apache-2.0
#include "server/process/shed.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

constexpr char kRetryPayload[] = "vitrine/retry-after-nanoseconds";

}  // namespace

absl::Status ShedError(ShedReason reason, std::string sentence, absl::Duration retry_after) {
  retry_after = std::clamp(retry_after, absl::Milliseconds(10), absl::Seconds(30));
  absl::StrAppend(&sentence, "; try again in ", absl::FormatDuration(absl::Trunc(retry_after, absl::Milliseconds(1))));
  absl::Status status = absl::ResourceExhaustedError(sentence);
  status.SetPayload(kRetryPayload, absl::Cord(absl::StrCat(absl::ToInt64Nanoseconds(retry_after))));
  SetShedReason(status, reason);
  return status;
}

std::optional<absl::Duration> RetryAfter(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kRetryPayload);
  int64_t nanoseconds = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(std::string(*payload), &nanoseconds)) return std::nullopt;
  return absl::Nanoseconds(nanoseconds);
}

}  // namespace vitrine
