// SPDX-License-Identifier: Apache-2.0
#include "client/lib/pipeline.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

namespace vitrine {
namespace {

constexpr absl::Duration kGoodbye = absl::Seconds(2);
constexpr absl::Duration kStopPeriod = absl::Milliseconds(100);  // documented in client.h

}  // namespace

Pipeline::Pipeline(Servers& servers, const ClientOptions& options, const RequestSource& next, const TracedSink& deliver,
                   InFlightLimit* limit, const std::function<bool()>& stop)
    : servers_(servers),
      options_(options),
      next_(next),
      deliver_(deliver),
      stop_(stop),
      window_(options, limit, [this] { return absl::Uniform(random_, 0.0, 1.0); }) {}

// Takes a request from the source only if no result is ready, because the source may block.
absl::Status Pipeline::Run() {
  while (true) {
    StopIfRequested();
    const absl::Time now = absl::Now();
    SendWhatIsDue(now);
    absl::Time until = absl::InfinitePast();
    if (!DeliverFirst()) {
      if (window_.wants()) {
        TakeFromSource();
      } else if (window_.empty()) {
        break;
      } else {
        until = std::min(window_.NextTimer(now), stop_ ? now + kStopPeriod : absl::InfiniteFuture());
      }
    }
    WaitForEvents(until);
    if (window_.Expire(absl::Now())) stream_.reset();
  }
  if (stream_ != nullptr && window_.idle()) {
    stream_->Finish();
    stream_->Wait(absl::Now() + kGoodbye);
  }
  stream_.reset();
  return window_.outcome();
}

void Pipeline::TakeFromSource() {
  std::optional<absl::StatusOr<v1::ClassifyRequest>> next = next_();
  next.has_value() ? window_.Take(*std::move(next)) : window_.EndSource();
}

void Pipeline::StopIfRequested() {
  if (!stop_ || (!stopped_ && !stop_())) return;
  stopped_ = true;
  window_.Stop();  // also cancels the requests that wait for a retry
}

void Pipeline::SendWhatIsDue(absl::Time now) {
  for (std::shared_ptr<const v1::ClassifyRequest>& request : window_.Due(now)) {
    if (stream_ == nullptr) {
      token_ = servers_.Token();
      const auto stub = v1::Classifier::NewStub(servers_.channel());
      stream_ = std::make_unique<ClassifyStream>(*stub, options_.traceparent);
    }
    stream_->Send(std::move(request));
  }
}

bool Pipeline::DeliverFirst() {
  std::optional<TracedResult> first = window_.PopFinished();
  if (!first.has_value()) return false;
  deliver_(*std::move(first));
  return true;
}

void Pipeline::WaitForEvents(absl::Time until) {
  if (stream_ == nullptr) return absl::SleepFor(until - absl::Now());
  ClassifyStream::Events events = stream_->Wait(until);
  for (ClassifyStream::Answer& answer : events.answers) window_.Answered(std::move(answer.response), answer.arrived);
  if (!events.ended.has_value()) return;
  stream_.reset();
  window_.Ended(servers_.Follow(*std::move(events.ended), token_), absl::Now());
}

}  // namespace vitrine
