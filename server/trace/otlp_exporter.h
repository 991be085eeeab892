// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_TRACE_OTLP_EXPORTER_H_
#define VITRINE_SERVER_TRACE_OTLP_EXPORTER_H_

#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "opentelemetry/proto/collector/trace/v1/trace_service.pb.h"
#include "server/process/clock.h"
#include "server/trace/otlp_spans.h"
#include "server/trace/span_queue.h"
#include "server/trace/tracer.h"

namespace vitrine {

using OtlpRequest = opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest;
using OtlpResponse = opentelemetry::proto::collector::trace::v1::ExportTraceServiceResponse;

// The result of one sending.
struct SpansSent {
  absl::Status status;
  bool may_pass = false;                           // the same spans may be taken later
  std::optional<absl::Duration> retry_after = {};  // when the collector says so
};

// Where the exporter sends spans.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  // Returns once they are taken or refused, after `timeout` at the latest. One thread.
  virtual SpansSent Send(const OtlpRequest& request, OtlpResponse& response, absl::Duration timeout) = 0;
  // Ends the running Send and every later one with CANCELLED. Any thread.
  virtual void Cancel() = 0;
};

// A batch of spans is sent at most so often.
inline constexpr int kMostSends = 5;

// How long to wait before a batch is sent again that failed so, `sends` (at least 1) times by now; nothing: it is given
// up. A collector that says when is believed, up to half a minute. Else half a second, doubled each time. Pure.
std::optional<absl::Duration> RetryDelay(const SpansSent& failed, int sends);

// Takes traced requests out of a queue and sends their spans, on a thread of its own that stands behind the rest of the
// process where cores are short. A batch that fails is sent again after a while; meanwhile the queue fills, and what
// finds it full is dropped. Thread-safe.
class OtlpExporter {
 public:
  // The longest that one sending takes.
  static constexpr absl::Duration kTimeout = absl::Seconds(5);

  struct Parts {
    SpanQueue& queue;
    SpanSink& sink;
    SpanCounters& counters;
    const Clock& clock;    // of the traces' times
    HttpCodeOf http_code;  // see otlp_spans.h
    std::string version;   // of the program
  };

  // The parts outlive the exporter.
  explicit OtlpExporter(Parts parts);
  ~OtlpExporter() { Stop(absl::ZeroDuration()); }

  // Takes no more, sends what waits, and returns once that is done, or `longest` has passed: what is left then is
  // dropped and counted. Later calls do nothing.
  void Stop(absl::Duration longest);

 private:
  enum class Outcome { kExported, kWaits, kLost };

  void Loop();
  void Export(const SpanQueue::Traces& traces);
  OtlpRequest Message(const SpanQueue::Traces& traces) const;
  // Sends until it succeeds, is given up or the exporter stops.
  absl::Status SendPatiently(const OtlpRequest& request, OtlpResponse& response);
  // How long a sending may take now; zero or less: the end has passed.
  absl::Duration TimeLeft();
  // Waits; false: the exporter stops.
  bool Pause(absl::Duration longest);
  void Say(const absl::Status& status, Outcome outcome);

  const Parts parts_;
  const opentelemetry::proto::resource::v1::Resource resource_;
  Outcome said_ = Outcome::kExported;  // the thread's; what was said last

  Mutex mutex_;
  CondVar changed_;
  absl::Time end_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();  // on SteadyClock(), once it stops
  bool is_done_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_OTLP_EXPORTER_H_
