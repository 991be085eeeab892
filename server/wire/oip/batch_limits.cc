// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/batch_limits.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/serve/scheduling/caller_quotas.h"

namespace vitrine {
namespace {

absl::Status CheckLimit(int64_t held, int64_t limit, const std::string& what) {
  if (held <= limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the request holds ", held, " ", what, " ", limit, " at a time; send fewer pictures in a request"));
}

}  // namespace

absl::Status CheckBatch(const BatchSize& batch, const AdmissionOptions& server, const QueueLimits* model,
                        const CallerQuota* quota) {
  if (batch.requests == 1) return absl::OkStatus();
  const int64_t pictures = batch.requests, bytes = batch.bytes;
  if (quota != nullptr) {
    const auto burst = static_cast<int64_t>(std::min(BurstOf(*quota), 1e15));
    RETURN_IF_ERROR(CheckLimit(pictures, burst, "pictures, and this caller's quota allows"));
    RETURN_IF_ERROR(CheckLimit(pictures, quota->max_in_flight, "pictures, and this caller's quota allows"));
  }
  RETURN_IF_ERROR(CheckLimit(pictures, server.max_requests, "pictures, and the server holds at most"));
  RETURN_IF_ERROR(CheckLimit(bytes, server.max_bytes, "bytes of pictures, and the server holds at most"));
  if (model == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(CheckLimit(pictures, model->max_requests, "pictures, and the server holds for this model at most"));
  return CheckLimit(bytes, model->max_bytes, "bytes of pictures, and the server holds for this model at most");
}

}  // namespace vitrine
