// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_TRACE_OTLP_COLLECTOR_H_
#define VITRINE_SERVER_TRACE_OTLP_COLLECTOR_H_

#include "absl/time/time.h"
#include "common/http/head.h"
#include "server/trace/http_client.h"
#include "server/trace/otlp_exporter.h"
#include "server/trace/otlp_options.h"

namespace vitrine {

// A collector for OTLP over HTTP with protobuf (https://opentelemetry.io/docs/specs/otlp/#otlphttp). See SpanSink.
class OtlpCollector : public SpanSink {
 public:
  // `url` is the result of CollectorUrl(). The first Send connects.
  OtlpCollector(HttpUrl url, const OtlpHeaders& headers);

  SpansSent Send(const OtlpRequest& request, OtlpResponse& response, absl::Duration timeout) override;
  void Cancel() override { client_.Cancel(); }

 private:
  HttpHeaders headers_;
  HttpClient client_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_OTLP_COLLECTOR_H_
