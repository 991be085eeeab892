// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_JOIN_FAULTS_H_
#define VITRINE_COMMON_JOIN_FAULTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"

namespace vitrine {

// Joins the messages of all errors, one per line. The code is the first error's. Returns OK if there is no error.
inline absl::Status JoinFaults(const std::vector<absl::Status>& statuses) {
  std::vector<std::string> faults;
  absl::StatusCode code = absl::StatusCode::kOk;
  for (const absl::Status& status : statuses) {
    if (status.ok()) continue;
    if (faults.empty()) code = status.code();
    faults.emplace_back(status.message());
  }
  return absl::Status(code, absl::StrJoin(faults, "\n"));
}

}  // namespace vitrine

#endif  // VITRINE_COMMON_JOIN_FAULTS_H_
