// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_TRACE_SPAN_QUEUE_H_
#define VITRINE_SERVER_TRACE_SPAN_QUEUE_H_

#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/trace/request_trace.h"

namespace vitrine {

// Traced requests that wait for the exporter. If the queue is full, further traces are dropped, so that serving never
// waits for a collector. Thread-safe.
class SpanQueue {
 public:
  using Traces = std::vector<std::unique_ptr<RequestTrace>>;
  static constexpr size_t kCapacity = 2048;  // maximum number of requests in the queue; each takes about 1 KB
  static constexpr size_t kBatch = 100;      // number of requests in a batch, with at most 500 spans
  static constexpr absl::Duration kPatience = absl::Seconds(1);

  SpanQueue() { waiting_.reserve(kCapacity); }

  // Adds a trace. If the queue is full or closed, drops it and returns false. Wakes the exporter at most twice per
  // batch.
  bool Push(std::unique_ptr<RequestTrace> trace);

  // Returns the oldest requests, at most kBatch. Waits until there are kBatch requests, until kPatience after the first
  // request, or until Close. Returns no requests once the queue is closed and empty. For use by one thread.
  Traces Take();
  void Close();

 private:
  Mutex mutex_;
  CondVar changed_;
  Traces waiting_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_SPAN_QUEUE_H_
