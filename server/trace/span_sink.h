// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_TRACE_SPAN_SINK_H_
#define VITRINE_SERVER_TRACE_SPAN_SINK_H_

#include <grpcpp/support/status.h>

#include "absl/time/time.h"
#include "opentelemetry/proto/collector/trace/v1/trace_service.pb.h"

namespace vitrine {

using OtlpRequest = opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest;
using OtlpResponse = opentelemetry::proto::collector::trace::v1::ExportTraceServiceResponse;

// Where the exporter sends spans.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  // Returns once they are taken or refused, after `timeout` at the latest. One thread.
  virtual grpc::Status Send(const OtlpRequest& request, OtlpResponse& response, absl::Duration timeout) = 0;
  // Ends the running Send and every later one with CANCELLED. Any thread.
  virtual void Cancel() = 0;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_SPAN_SINK_H_
