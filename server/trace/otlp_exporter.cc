// SPDX-License-Identifier: Apache-2.0
#include "server/trace/otlp_exporter.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "server/observe/families.h"
#include "server/observe/log.h"

namespace vitrine {
namespace {

constexpr int kExporterNiceness = 10;

int64_t SpansOf(const SpanQueue::Traces& traces) {
  int64_t spans = 0;
  for (const auto& trace : traces) spans += trace->Spans();
  return spans;
}

void CountSpans(std::atomic<uint64_t>& counter, int64_t spans) {
  counter.fetch_add(static_cast<uint64_t>(spans), std::memory_order_relaxed);
}

constexpr absl::Duration kFirstDelay = absl::Milliseconds(500);
constexpr absl::Duration kLongestDelay = absl::Seconds(30);

}  // namespace

std::optional<absl::Duration> RetryDelay(const SpansSent& failed, int sends) {
  if (sends >= kMostSends || !failed.may_pass) return std::nullopt;
  if (failed.retry_after.has_value()) return std::clamp(*failed.retry_after, absl::ZeroDuration(), kLongestDelay);
  return kFirstDelay * (1 << (sends - 1));
}

OtlpExporter::OtlpExporter(Parts parts)
    : parts_(std::move(parts)), resource_(ThisResource(parts_.version)), thread_([this] { Loop(); }) {}

void OtlpExporter::Loop() {
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kExporterNiceness);
  for (SpanQueue::Traces traces = parts_.queue.Take(); !traces.empty(); traces = parts_.queue.Take()) Export(traces);
  MutexLock lock(mutex_);
  is_done_ = true;
  changed_.NotifyAll();
}

void OtlpExporter::Export(const SpanQueue::Traces& traces) {
  OtlpResponse response;
  const absl::Status status = SendPatiently(Message(traces), response);
  const int64_t spans = SpansOf(traces);
  const int64_t rejected =
      status.ok() ? std::clamp<int64_t>(response.partial_success().rejected_spans(), 0, spans) : spans;
  CountSpans(parts_.counters.failed, rejected);
  CountSpans(parts_.counters.exported, spans - rejected);
  Say(rejected > 0 && status.ok() ? absl::InvalidArgumentError(response.partial_success().error_message()) : status,
      status.ok() && rejected == 0 ? Outcome::kExported : Outcome::kLost);
}

OtlpRequest OtlpExporter::Message(const SpanQueue::Traces& traces) const {
  OtlpRequest request;
  auto& of_resource = *request.add_resource_spans();
  *of_resource.mutable_resource() = resource_;
  auto& spans = *of_resource.add_scope_spans();
  spans.mutable_scope()->set_name("vitrine");
  spans.mutable_scope()->set_version(parts_.version);
  const absl::Duration wall = absl::Now() - parts_.clock.Now();
  for (const auto& trace : traces) AppendSpans(*trace, wall, parts_.http_code, spans);
  return request;
}

absl::Status OtlpExporter::SendPatiently(const OtlpRequest& request, OtlpResponse& response) {
  for (int sends = 1;; ++sends) {
    const absl::Duration left = TimeLeft();
    if (left <= absl::ZeroDuration()) return absl::CancelledError("the server ends");
    const SpansSent sent = parts_.sink.Send(request, response, left);
    if (sent.status.ok()) return sent.status;
    const std::optional<absl::Duration> delay = RetryDelay(sent, sends);
    if (!delay.has_value()) return sent.status;
    Say(sent.status, Outcome::kWaits);
    if (!Pause(*delay)) return sent.status;
  }
}

absl::Duration OtlpExporter::TimeLeft() {
  MutexLock lock(mutex_);
  return std::min(kTimeout, end_ - SteadyClock().Now());
}

bool OtlpExporter::Pause(absl::Duration longest) {
  const absl::Time end = SteadyClock().Now() + longest;
  MutexLock lock(mutex_);
  while (end_ == absl::InfiniteFuture() && SteadyClock().Now() < end) {
    changed_.WaitFor(mutex_, end - SteadyClock().Now());
  }
  return end_ == absl::InfiniteFuture();
}

// Logs only changes: the first failure, the first loss and the recovery, so that a collector that cannot be reached for
// a day causes only three lines. Logs the reason of a loss even if the collector failed before.
void OtlpExporter::Say(const absl::Status& status, Outcome outcome) {
  if (outcome == said_ || (outcome == Outcome::kWaits && said_ == Outcome::kLost)) return;
  said_ = outcome;
  if (outcome == Outcome::kExported) return Log(LogLevel::kInfo, "spans exported again");
  Log(LogLevel::kWarning, "spans not exported",
      {{"code", CodeName(static_cast<int>(status.code()))}, {"reason", std::string(status.message())}});
}

void OtlpExporter::Stop(absl::Duration longest) {
  if (!thread_.joinable()) return;
  parts_.queue.Close();
  {
    MutexLock lock(mutex_);
    end_ = SteadyClock().Now() + longest;
    changed_.NotifyAll();
    while (!is_done_ && SteadyClock().Now() < end_) changed_.WaitFor(mutex_, end_ - SteadyClock().Now());
  }
  parts_.sink.Cancel();
  thread_.join();
}

}  // namespace vitrine
