// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_TRACE_TRACER_H_
#define VITRINE_SERVER_TRACE_TRACER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/observe/trace_context.h"
#include "server/trace/request_trace.h"
#include "server/trace/span_queue.h"

namespace vitrine {

// What became of spans since the start. Thread-safe.
struct SpanCounters {
  std::atomic<uint64_t> exported = 0;  // the collector took them
  std::atomic<uint64_t> full = 0;      // dropped: too many waited
  std::atomic<uint64_t> failed = 0;    // dropped: the collector did not take them
};

// Which requests are traced, and where their traces go. A request that is not costs a comparison and, where it has no
// caller's trace, the random bits of an id; one that is costs an allocation and a short lock. Thread-safe.
class Tracer {
 public:
  // `ratio` of the requests without a caller's trace, 0 to 1; of the others the caller decides (the flag `sampled` of
  // traceparent). Queue and counters outlive the tracer.
  Tracer(double ratio, SpanQueue& queue, SpanCounters& counters) : ratio_(ratio), queue_(queue), counters_(counters) {}

  // Null: the request is not traced.
  std::unique_ptr<RequestTrace> Begin(const std::optional<TraceContext>& caller, Method method, absl::Time arrival);
  // A picture of a call, at this place in it, that is traced where the call is: `call` is then the call's own span.
  std::unique_ptr<RequestTrace> BeginPart(const std::optional<TraceContext>& call, Method method, absl::Time arrival,
                                          int part);
  // The request ended so; `trace` is not null. Never waits for the collector.
  void End(std::unique_ptr<RequestTrace> trace, const absl::Status& status, absl::Time end);

 private:
  const double ratio_;
  SpanQueue& queue_;
  SpanCounters& counters_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_TRACER_H_
