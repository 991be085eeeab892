// SPDX-License-Identifier: Apache-2.0
#include "server/trace/tracing.h"

#include <utility>

#include "absl/memory/memory.h"
#include "common/status_macros.h"
#include "server/trace/otlp_collector.h"

namespace vitrine {
absl::StatusOr<std::unique_ptr<Tracing>> Tracing::Open(const OtlpOptions& options, const Clock& clock,
                                                       HttpCodeOf http_code, const std::string& version) {
  if (options.endpoint.empty()) return nullptr;
  ASSIGN_OR_RETURN(HttpUrl url, CollectorUrl(options.endpoint));
  OtlpHeaders headers;
  if (!options.headers.empty()) {
    ASSIGN_OR_RETURN(headers, ReadOtlpHeaders(options.headers));
  }
  return absl::WrapUnique(
      new Tracing(options, std::make_unique<OtlpCollector>(std::move(url), headers), clock, http_code, version));
}

Tracing::Tracing(const OtlpOptions& options, std::unique_ptr<SpanSink> collector, const Clock& clock,
                 HttpCodeOf http_code, const std::string& version)
    : collector_(std::move(collector)),
      tracer_(options.sample, queue_, counters_),
      exporter_({.queue = queue_,
                 .sink = *collector_,
                 .counters = counters_,
                 .clock = clock,
                 .http_code = http_code,
                 .version = version}) {}

SpanTotals Tracing::Totals() const {
  return {.exported = counters_.exported.load(std::memory_order_relaxed),
          .full = counters_.full.load(std::memory_order_relaxed),
          .failed = counters_.failed.load(std::memory_order_relaxed)};
}

std::function<SpanTotals()> SpanSource(const Tracing* tracing) {
  if (tracing == nullptr) return nullptr;
  return [tracing] { return tracing->Totals(); };
}

}  // namespace vitrine
