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

// Numbers of spans since the server's start, by result. Thread-safe.
struct SpanCounters {
  std::atomic<uint64_t> exported = 0;  // accepted by the collector
  std::atomic<uint64_t> full = 0;      // dropped: the queue was full
  std::atomic<uint64_t> failed = 0;    // dropped: the collector did not accept them
};

// Decides which requests are traced, and queues their traces. An untraced request costs one comparison and, if its
// caller sent no trace context, the random bits of an id. A traced request costs an allocation and a short lock.
// Thread-safe.
class Tracer {
 public:
  // `ratio`, 0 to 1, is the share of traced requests among requests without a caller's trace. For a request with a
  // caller's trace, the caller decides (the flag `sampled` of traceparent). Queue and counters must outlive the tracer.
  Tracer(double ratio, SpanQueue& queue, SpanCounters& counters) : ratio_(ratio), queue_(queue), counters_(counters) {}

  // Begins the trace of a request. Returns null if the request is not traced.
  std::unique_ptr<RequestTrace> Begin(const std::optional<TraceContext>& caller, Method method, absl::Time arrival);
  // Begins the trace of image `part` of a multi-image call. `call` is the trace context of the call's span. Returns
  // null if the call is not traced.
  std::unique_ptr<RequestTrace> BeginPart(const std::optional<TraceContext>& call, Method method, absl::Time arrival,
                                          int part);
  // Ends and queues a trace, which must not be null. Never waits for the collector.
  void End(std::unique_ptr<RequestTrace> trace, const absl::Status& status, absl::Time end);

 private:
  const double ratio_;
  SpanQueue& queue_;
  SpanCounters& counters_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_TRACER_H_
