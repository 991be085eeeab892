// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_TRACE_OTLP_OPTIONS_H_
#define VITRINE_SERVER_TRACE_OTLP_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/http/head.h"
#include "server/trace/http_url.h"

namespace vitrine {

struct OtlpOptions {
  // Where an OpenTelemetry collector takes OTLP over HTTP: http://HOST:PORT[/PATH], or https:// for TLS with the
  // system's CA certificates. Empty: nothing is traced, and nothing is paid for it.
  std::string endpoint = {};
  // Share of the requests without a caller's trace that are traced, 0 to 1; of the others the caller decides.
  double sample = 0.1;
  // File of headers for the collector, "NAME: VALUE" a line, as those that say who sends; its values are secrets, so
  // that the file must not be readable by every user. Empty: none.
  std::string headers = {};

  absl::Status Validate() const;  // names the flag, the value and what is allowed
};

// The address that OtlpOptions::endpoint stands for, with the path /v1/traces if it has none. INVALID_ARGUMENT names
// the flag and what is allowed.
absl::StatusOr<HttpUrl> CollectorUrl(const std::string& endpoint);

using OtlpHeaders = HttpHeaders;

// Reads the file of OtlpOptions::headers; names become lower case. INVALID_ARGUMENT names the line, never its value;
// else fails as ReadGuardedFile does.
absl::StatusOr<OtlpHeaders> ReadOtlpHeaders(const std::string& path);

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_OTLP_OPTIONS_H_
