// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_TRACE_RETRY_DELAY_H_
#define VITRINE_SERVER_TRACE_RETRY_DELAY_H_

#include <grpcpp/support/status.h>

#include <optional>

#include "absl/time/time.h"

namespace vitrine {

// A batch of spans is sent at most so often.
inline constexpr int kMostSends = 5;

// How long to wait before a batch is sent again that failed with `status`, `sends` (at least 1) times by now; nothing:
// it is given up. Which codes are worth it is OTLP's (https://opentelemetry.io/docs/specs/otlp/#failures); a collector
// that says when (google.rpc.RetryInfo) is believed, up to half a minute. Else half a second, doubled each time. Pure.
std::optional<absl::Duration> RetryDelay(const grpc::Status& status, int sends);

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_RETRY_DELAY_H_
