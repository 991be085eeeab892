// SPDX-License-Identifier: Apache-2.0
#include "server/process/shed.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

constexpr char kReasonPayload[] = "vitrine/shed-reason";
constexpr char kRetryPayload[] = "vitrine/retry-after-nanoseconds";
constexpr const char* kReasonNames[] = {"requests", "bytes", "wait",    "deadline", "model",
                                        "share",    "quota", "answers", "memory"};
static_assert(std::size(kReasonNames) == kShedReasons);

std::optional<int64_t> NumberIn(const absl::Status& status, const char* payload) {
  const absl::optional<absl::Cord> text = status.GetPayload(payload);
  int64_t number = 0;
  if (!text.has_value() || !absl::SimpleAtoi(std::string(*text), &number)) return std::nullopt;
  return number;
}

}  // namespace

const char* ShedReasonName(ShedReason reason) {
  return kReasonNames[static_cast<int>(reason)];
}

absl::Status ShedError(ShedReason reason, std::string sentence, absl::Duration retry_after) {
  retry_after = std::clamp(retry_after, absl::Milliseconds(10), absl::Seconds(30));
  absl::StrAppend(&sentence, "; try again in ", absl::FormatDuration(absl::Trunc(retry_after, absl::Milliseconds(1))));
  absl::Status status = absl::ResourceExhaustedError(sentence);
  status.SetPayload(kRetryPayload, absl::Cord(absl::StrCat(absl::ToInt64Nanoseconds(retry_after))));
  status.SetPayload(kReasonPayload, absl::Cord(absl::StrCat(static_cast<int>(reason))));
  return status;
}

std::optional<ShedReason> ShedReasonOf(const absl::Status& status) {
  const std::optional<int64_t> reason = NumberIn(status, kReasonPayload);
  if (!reason.has_value() || *reason < 0 || *reason >= kShedReasons) return std::nullopt;
  return static_cast<ShedReason>(*reason);
}

std::optional<absl::Duration> RetryAfter(const absl::Status& status) {
  const std::optional<int64_t> nanoseconds = NumberIn(status, kRetryPayload);
  if (!nanoseconds.has_value()) return std::nullopt;
  return absl::Nanoseconds(*nanoseconds);
}

}  // namespace vitrine
