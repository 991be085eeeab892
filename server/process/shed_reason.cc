// SPDX-License-Identifier: Apache-2.0
#include "server/process/shed_reason.h"

#include <iterator>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

constexpr char kReasonPayload[] = "vitrine/shed-reason";
constexpr const char* kNames[] = {"requests", "bytes", "wait",    "deadline", "model",
                                  "share",    "quota", "answers", "memory"};
static_assert(std::size(kNames) == kShedReasons);

}  // namespace

const char* ShedReasonName(ShedReason reason) {
  return kNames[static_cast<int>(reason)];
}

void SetShedReason(absl::Status& status, ShedReason reason) {
  status.SetPayload(kReasonPayload, absl::Cord(absl::StrCat(static_cast<int>(reason))));
}

std::optional<ShedReason> ShedReasonOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kReasonPayload);
  int reason = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(std::string(*payload), &reason)) return std::nullopt;
  if (reason < 0 || reason >= kShedReasons) return std::nullopt;
  return static_cast<ShedReason>(reason);
}

}  // namespace vitrine
