// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_TRACE_OTLP_OPTIONS_H_
#define VITRINE_SERVER_TRACE_OTLP_OPTIONS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vitrine {

struct OtlpOptions {
  // Where an OpenTelemetry collector takes OTLP over gRPC: HOST:PORT in plaintext, https://HOST:PORT over TLS with the
  // system's authorities. Empty: nothing is traced, and nothing is paid for it.
  std::string endpoint = {};
  // Share of the requests without a caller's trace that are traced, 0 to 1; of the others the caller decides.
  double sample = 0.1;
  // File of headers for the collector, "NAME: VALUE" a line, as those that say who sends; its values are secrets, so
  // that the file must not be readable by every user. Empty: none.
  std::string headers = {};

  absl::Status Validate() const;  // names the flag, the value and what is allowed
};

using OtlpHeaders = std::vector<std::pair<std::string, std::string>>;

// What the file of OtlpOptions::headers holds: names in lower case, as gRPC wants them. INVALID_ARGUMENT names the
// line, never its value; else what ReadGuardedFile says.
absl::StatusOr<OtlpHeaders> ReadOtlpHeaders(const std::string& path);

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_OTLP_OPTIONS_H_
