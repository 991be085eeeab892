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

// Returns the HTTP code with which the server answers an error that has this canonical code.
using HttpCodeOf = int (*)(absl::StatusCode);

// Appends the span of a request and one span per stage. Adding `wall` to a time in `trace` gives wall-clock time. Names
// and attributes follow OpenTelemetry's conventions for RPC and HTTP servers; the names of Vitrine's own attributes
// begin with "vitrine.".
void AppendSpans(const RequestTrace& trace, absl::Duration wall, HttpCodeOf http_code,
                 opentelemetry::proto::trace::v1::ScopeSpans& spans);

// Returns the attributes of this process: service.name, service.version, host.name and process.pid.
opentelemetry::proto::resource::v1::Resource ThisResource(const std::string& version);

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_OTLP_SPANS_H_
