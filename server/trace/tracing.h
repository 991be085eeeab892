// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_TRACE_TRACING_H_
#define VITRINE_SERVER_TRACE_TRACING_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/observe/metrics.h"
#include "server/trace/otlp_exporter.h"
#include "server/trace/otlp_options.h"
#include "server/trace/tracer.h"

namespace vitrine {

// Owns all components of tracing. Thread-safe, except that only the owner may call Stop.
class Tracing {
 public:
  // Returns null if `options` name no collector. Returns an error if the URL or the file of headers is invalid.
  // Contacts the collector only when spans are sent. The clock must outlive the result.
  static absl::StatusOr<std::unique_ptr<Tracing>> Open(const OtlpOptions& options, const Clock& clock,
                                                       HttpCodeOf http_code, const std::string& version);

  Tracer& tracer() { return tracer_; }
  SpanTotals Totals() const;
  // Stops the exporter: see OtlpExporter::Stop.
  void Stop(absl::Duration longest) { exporter_.Stop(longest); }

 private:
  Tracing(const OtlpOptions& options, std::unique_ptr<SpanSink> collector, const Clock& clock, HttpCodeOf http_code,
          const std::string& version);

  SpanQueue queue_;
  SpanCounters counters_;
  const std::unique_ptr<SpanSink> collector_;
  Tracer tracer_;
  OtlpExporter exporter_;
};

// Returns a function that calls Tracing::Totals; null if `tracing` is null. `tracing` must outlive the function.
std::function<SpanTotals()> SpanSource(const Tracing* tracing);

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_TRACING_H_
