// SPDX-License-Identifier: Apache-2.0
#include "client/eval/fate.h"

#include "client/lib/status.h"

namespace vitrine {

Fate FateOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    // The version is not loaded. The server may have restarted, or another version may have replaced this version.
    case absl::StatusCode::kNotFound:
      return Fate::kAway;
    case absl::StatusCode::kResourceExhausted:
      // The server gives a retry delay only if it is overloaded. Without a delay, the image is too large.
      return ServerRetryDelay(status).has_value() ? Fate::kLater : Fate::kRefused;
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kCancelled:
      return Fate::kLater;
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDataLoss:
      return Fate::kDoubtful;
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnimplemented:
      return Fate::kHopeless;
    default:
      return Fate::kRefused;
  }
}

}  // namespace vitrine
