// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_TRACE_OTLP_OPTIONS_H_
#define VITRINE_SERVER_TRACE_OTLP_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/http/head.h"
#include "server/trace/http_url.h"

namespace vitrine {

struct OtlpOptions {
  // URL of an OpenTelemetry collector for OTLP over HTTP: http://HOST:PORT[/PATH], or https:// for TLS with the
  // system's CA certificates. Empty: no tracing.
  std::string endpoint = {};
  // Share of requests to trace, 0 to 1, among requests without a caller's trace. If a request has a caller's trace, the
  // caller decides.
  double sample = 0.1;
  // File of headers for the collector, one "NAME: VALUE" per line, for example for authentication. The values are
  // secrets, so the file must not be readable by every user. Empty: no headers.
  std::string headers = {};

  absl::Status Validate() const;  // an error names the flag, the value and the allowed values
};

// Returns the URL of OtlpOptions::endpoint; adds the path /v1/traces if there is none. INVALID_ARGUMENT names the flag
// and the allowed values.
absl::StatusOr<HttpUrl> CollectorUrl(const std::string& endpoint);

using OtlpHeaders = HttpHeaders;

// Reads the file of OtlpOptions::headers; names become lower case. INVALID_ARGUMENT gives the number of the wrong line,
// but never a header's value. For other errors, see ReadGuardedFile.
absl::StatusOr<OtlpHeaders> ReadOtlpHeaders(const std::string& path);

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_OTLP_OPTIONS_H_
