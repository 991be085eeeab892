// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_TRACE_OTLP_SPANS_H_
#define VITRINE_SERVER_TRACE_OTLP_SPANS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "opentelemetry/proto/resource/v1/resource.pb.h"
#include "opentelemetry/proto/trace/v1/trace.pb.h"
#include "server/trace/request_trace.h"

namespace vitrine {

// The code of HTTP for the canonical code of a refusal, as the HTTP front answers it.
using HttpCodeOf = int (*)(absl::StatusCode);

// Appends the span of a request and one for each of its stages. `wall` is what makes a time of the service's clock one
// of the wall clock. Names and attributes are OpenTelemetry's for RPC and HTTP servers, ours begin with "vitrine.".
void AppendSpans(const RequestTrace& trace, absl::Duration wall, HttpCodeOf http_code,
                 opentelemetry::proto::trace::v1::ScopeSpans& spans);

// Who sends: service.name, service.version, host.name and process.pid.
opentelemetry::proto::resource::v1::Resource ThisResource(const std::string& version);

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_OTLP_SPANS_H_
