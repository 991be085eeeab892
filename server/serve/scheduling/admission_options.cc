// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "server/serve/scheduling/admission.h"

namespace vitrine {

absl::Status AdmissionOptions::Validate() const {
  if (max_requests < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--max-queue-requests is ", max_requests, "; it must be at least 1"));
  }
  if (max_bytes < 1) {
    return absl::InvalidArgumentError(absl::StrCat("--max-queue-bytes is ", max_bytes, "; it must be at least 1"));
  }
  if (max_answer_bytes < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--max-answer-bytes is ", max_answer_bytes, "; it must be at least 1"));
  }
  if (max_predicted_wait <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat("max_predicted_wait is ", absl::FormatDuration(max_predicted_wait),
                                                   "; it must be longer than zero"));
  }
  if (!(deadline_share > 0 && deadline_share <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("deadline_share is ", deadline_share, "; it must be above 0 and at most 1"));
  }
  if (executors < 1) {
    return absl::InvalidArgumentError(absl::StrCat("executors is ", executors, "; it must be at least 1"));
  }
  return absl::OkStatus();
}

}  // namespace vitrine
