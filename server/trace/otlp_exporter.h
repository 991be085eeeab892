// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_TRACE_OTLP_EXPORTER_H_
#define VITRINE_SERVER_TRACE_OTLP_EXPORTER_H_

#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "opentelemetry/proto/collector/trace/v1/trace_service.pb.h"
#include "server/process/clock.h"
#include "server/trace/otlp_spans.h"
#include "server/trace/span_queue.h"
#include "server/trace/tracer.h"

namespace vitrine {

using OtlpRequest = opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest;
using OtlpResponse = opentelemetry::proto::collector::trace::v1::ExportTraceServiceResponse;

// Result of one call of SpanSink::Send.
struct SpansSent {
  absl::Status status;
  bool may_pass = false;                           // true: sending the same spans later may succeed
  std::optional<absl::Duration> retry_after = {};  // set if the collector gave a delay
};

// Destination of the exporter's spans.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  // Returns once the spans are accepted or rejected, at the latest after `timeout`. For use by one thread.
  virtual SpansSent Send(const OtlpRequest& request, OtlpResponse& response, absl::Duration timeout) = 0;
  // Ends the running call of Send and all later calls with CANCELLED. Thread-safe.
  virtual void Cancel() = 0;
};

// Maximum attempts to send a batch of spans.
inline constexpr int kMostSends = 5;

// Returns the delay before the next attempt to send a batch, after `sends` (at least 1) attempts have failed; nullopt:
// the batch is dropped. The delay is the collector's retry_after, at most 30 s. Without retry_after, the delay is 0.5 s
// after the first attempt and doubles after each further attempt. Pure function.
std::optional<absl::Duration> RetryDelay(const SpansSent& failed, int sends);

// Takes traced requests from a queue and sends their spans, on a separate thread with low priority. A failed batch is
// retried after a delay. Meanwhile new traces wait in the queue; if it is full, they are dropped. Thread-safe.
class OtlpExporter {
 public:
  // Maximum time of one Send.
  static constexpr absl::Duration kTimeout = absl::Seconds(5);

  struct Parts {
    SpanQueue& queue;
    SpanSink& sink;
    SpanCounters& counters;
    const Clock& clock;    // clock by which the traces' times were measured
    HttpCodeOf http_code;  // converts status codes to HTTP codes: see otlp_spans.h
    std::string version;   // version of the program
  };

  // The references in `parts` must outlive the exporter.
  explicit OtlpExporter(Parts parts);
  ~OtlpExporter() { Stop(absl::ZeroDuration()); }

  // Accepts no more traces and sends the queued traces. Returns when they are sent or `longest` has passed; the
  // remaining traces are dropped and counted. Later calls do nothing.
  void Stop(absl::Duration longest);

 private:
  enum class Outcome { kExported, kWaits, kLost };

  void Loop();
  void Export(const SpanQueue::Traces& traces);
  OtlpRequest Message(const SpanQueue::Traces& traces) const;
  // Sends one batch, repeatedly if necessary, until the batch is accepted or dropped, or the exporter stops.
  absl::Status SendPatiently(const OtlpRequest& request, OtlpResponse& response);
  // Returns the time that a call of Send may take now; zero or less if the time limit of Stop has passed.
  absl::Duration TimeLeft();
  // Waits for `longest`. If the exporter stops, ends the wait early and returns false.
  bool Pause(absl::Duration longest);
  void Say(const absl::Status& status, Outcome outcome);

  const Parts parts_;
  const opentelemetry::proto::resource::v1::Resource resource_;
  Outcome said_ = Outcome::kExported;  // last result that was logged; used only by the exporter's thread

  Mutex mutex_;
  CondVar changed_;
  absl::Time end_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();  // time at which Stop gives up, on SteadyClock()
  bool is_done_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last member: it uses the members above
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_OTLP_EXPORTER_H_
