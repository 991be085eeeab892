// SPDX-License-Identifier: Apache-2.0
#include "client/pipeline.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/in_flight_limit.h"
#include "client/status.h"

namespace vitrine {
namespace {

// Answers that overtake a slow one wait here for their turn; beyond this nothing more is sent.
constexpr size_t kWindowPerSlot = 4;
constexpr size_t kMaxWindowBytes = size_t{256} << 20;
constexpr absl::Duration kGoodbye = absl::Seconds(2);
constexpr absl::Duration kStopPeriod = absl::Milliseconds(100);  // client.h names it

// Whether fewer requests at a time would have helped: the server had no room, or no time.
bool IsOverload(const v1::ClassifyStreamResponse& answer) {
  if (!answer.has_error()) return false;
  const v1::StreamError& error = answer.error();
  return error.code() == static_cast<int>(absl::StatusCode::kDeadlineExceeded) ||
         (error.code() == static_cast<int>(absl::StatusCode::kResourceExhausted) && error.retry_after() > 0);
}

}  // namespace

absl::Status CheckRequestSize(const v1::ClassifyRequest& request, const ClientOptions& options) {
  const size_t bytes = request.ByteSizeLong();
  if (bytes <= static_cast<size_t>(options.max_request_bytes)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the request has ", bytes, " bytes; at most ", options.max_request_bytes, " are sent"));
}

Pipeline::Pipeline(v1::Classifier::Stub& stub, const ClientOptions& options, const RequestSource& next,
                   const TracedSink& deliver, InFlightLimit* limit, const std::function<bool()>& stop)
    : stub_(stub), options_(options), next_(next), deliver_(deliver), limit_(limit), stop_(stop) {}

// The source may be slow, so it is asked for one request at a time, and only when nothing can be delivered.
absl::Status Pipeline::Run() {
  while (true) {
    StopIfAsked();
    const absl::Time now = absl::Now();
    SendWhatIsDue(now);
    absl::Time until = absl::InfinitePast();
    if (!DeliverFirst()) {
      if (MayTake()) {
        TakeFromSource();
      } else if (window_.empty()) {
        break;
      } else {
        until = NextTimer(now);
      }
    }
    if (stream_ != nullptr) {
      HandleEvents(stream_->Wait(until));
    } else {
      absl::SleepFor(until - absl::Now());
    }
    ExpireOld(absl::Now());
    DropAbandonedStream();
  }
  if (stream_ != nullptr && sent_.empty()) {
    stream_->Finish();
    stream_->Wait(absl::Now() + kGoodbye);
  }
  stream_.reset();
  return outcome_;
}

bool Pipeline::MayTake() const {
  return !source_ended_ && window_.size() < kWindowPerSlot * static_cast<size_t>(options_.max_in_flight) &&
         window_bytes_ < kMaxWindowBytes;
}

void Pipeline::TakeFromSource() {
  std::optional<absl::StatusOr<v1::ClassifyRequest>> next = next_();
  if (!next.has_value()) {
    source_ended_ = true;
    return;
  }
  Entry& entry = window_.emplace_back();
  entry.index = taken_++;
  if (!next->ok()) return Finish(entry, next->status());
  entry.request = std::make_shared<v1::ClassifyRequest>(*std::move(*next));
  entry.caller_id = entry.request->request_id();
  entry.bytes = entry.request->ByteSizeLong();
  window_bytes_ += entry.bytes;
  if (absl::Status status = CheckRequestSize(*entry.request, options_); !status.ok()) Finish(entry, status);
}

void Pipeline::StopIfAsked() {
  if (!stop_ || (!stopped_ && !stop_())) return;
  stopped_ = true;
  source_ended_ = true;
  // Also what came back to be sent again since.
  for (Entry& entry : window_) {
    if (entry.state == State::kWaiting) Finish(entry, absl::CancelledError("the caller stopped before it was sent"));
  }
}

void Pipeline::SendWhatIsDue(absl::Time now) {
  if (now < reopen_) return;
  for (Entry& entry : window_) {
    if (sent_.size() >= MostInFlight()) return;
    if (entry.state == State::kSent && entry.alone) return;
    if (entry.state != State::kWaiting || entry.not_before > now) continue;
    if (entry.alone && !sent_.empty()) return;
    Send(entry, now);
    if (entry.alone) return;
  }
}

void Pipeline::Send(Entry& entry, absl::Time now) {
  if (stream_ == nullptr) stream_ = std::make_unique<ClassifyStream>(stub_, options_.traceparent);
  if (entry.attempts == 0) entry.deadline = now + options_.deadline;
  ++entry.attempts;
  entry.sent = now;
  entry.state = State::kSent;
  // Ids must be unique within a stream, also between the attempts of one request.
  const std::string id = absl::StrCat(entry.index, "-", entry.attempts);
  entry.request->set_request_id(id);
  sent_[id] = entry.index;
  stream_->Send(entry.request);
}

bool Pipeline::DeliverFirst() {
  if (window_.empty() || window_.front().state != State::kFinished) return false;
  Entry first = std::move(window_.front());
  window_.pop_front();
  deliver_(
      {.index = first.index, .result = std::move(first.result), .attempts = first.attempts, .latency = first.latency});
  return true;
}

void Pipeline::HandleEvents(ClassifyStream::Events events) {
  for (ClassifyStream::Answer& answer : events.answers) HandleAnswer(std::move(answer.response), answer.arrived);
  if (events.ended.has_value()) HandleEnd(*std::move(events.ended), absl::Now());
}

void Pipeline::HandleAnswer(v1::ClassifyStreamResponse answer, absl::Time arrived) {
  const auto sent = sent_.find(answer.request_id());
  if (sent == sent_.end()) {
    // Delivering it to anyone would be a guess, and every other answer is in doubt as well.
    FinishEverything(absl::InternalError(
        absl::StrCat("the server answered request \"", answer.request_id(), "\", which it was not sent")));
    return;
  }
  Entry* entry = Find(sent->second);
  const int in_flight = static_cast<int>(sent_.size());
  sent_.erase(sent);
  lost_streams_ = 0;
  if (entry == nullptr || entry->state != State::kSent) return;  // too late: its deadline has passed
  entry->latency = arrived - entry->sent;
  if (limit_ != nullptr) {
    IsOverload(answer) ? limit_->OnOverload(entry->sent, arrived) : limit_->OnAnswer(in_flight, arrived);
  }
  switch (answer.result_case()) {
    case v1::ClassifyStreamResponse::kResponse:
      answer.mutable_response()->set_request_id(entry->caller_id);
      Finish(*entry, std::move(*answer.mutable_response()));
      return;
    case v1::ClassifyStreamResponse::kError:
      RetryOrFinish(*entry, FromStreamError(answer.error()), arrived);
      return;
    case v1::ClassifyStreamResponse::RESULT_NOT_SET:
      Finish(*entry, absl::InternalError("the server sent an empty answer"));
      return;
  }
}

void Pipeline::HandleEnd(absl::Status status, absl::Time now) {
  stream_.reset();
  const auto unanswered = std::exchange(sent_, {});
  if (unanswered.empty()) return;
  // A stream that ends without an error, or that the other side cancelled, has been left by its server.
  if (status.ok() || absl::IsCancelled(status)) status = absl::UnavailableError("the server ended the stream");
  const bool server_gone = absl::IsUnavailable(status);
  if (server_gone) {
    if (lost_streams_++ == 0) lost_since_ = now;
    // One wait for all: each with its own, a few dozen would be a few dozen streams within moments.
    const auto delay = RetryDelay(status, lost_streams_, lost_since_ + options_.deadline - now,
                                  absl::Uniform(random_, 0.0, 1.0), options_.retry);
    if (!delay.has_value()) return FinishEverything(status);
    reopen_ = now + *delay;
  }
  for (const auto& [id, index] : unanswered) {
    Entry* entry = Find(index);
    if (entry == nullptr || entry->state != State::kSent) continue;
    if (server_gone) {
      RetryOrFinish(*entry, status, now);
      entry->not_before = reopen_;
    } else if (unanswered.size() == 1) {
      Finish(*entry, status);
    } else {
      entry->alone = true;  // one of these is to blame: ask each by itself
      entry->state = State::kWaiting;
    }
  }
}

void Pipeline::ExpireOld(absl::Time now) {
  for (Entry& entry : window_) {
    if (entry.state == State::kFinished || entry.deadline > now) continue;
    if (limit_ != nullptr && entry.state == State::kSent) limit_->OnOverload(entry.sent, now);
    Finish(entry,
           absl::DeadlineExceededError(absl::StrCat("no answer within ", absl::FormatDuration(options_.deadline))));
  }
}

// A request whose time is over keeps its place in the server until it is answered. Once all places are held like that,
// only a new stream gets on, and cancelling the old one lets the server drop the work.
void Pipeline::DropAbandonedStream() {
  if (stream_ == nullptr || sent_.empty()) return;
  for (const auto& [id, index] : sent_) {
    const Entry* entry = Find(index);
    if (entry != nullptr && entry->state == State::kSent) return;
  }
  stream_.reset();
  sent_.clear();
}

// What is due at `now` has been sent or waits for a place, which an answer frees.
absl::Time Pipeline::NextTimer(absl::Time now) const {
  absl::Time next = stop_ ? now + kStopPeriod : absl::InfiniteFuture();
  if (reopen_ > now) next = std::min(next, reopen_);
  for (const Entry& entry : window_) {
    if (entry.state == State::kFinished) continue;
    next = std::min(next, entry.deadline);
    if (entry.state == State::kWaiting && entry.not_before > now) next = std::min(next, entry.not_before);
  }
  return next;
}

size_t Pipeline::MostInFlight() const {
  const int most = limit_ == nullptr ? options_.max_in_flight : std::min(limit_->limit(), options_.max_in_flight);
  return static_cast<size_t>(most);
}

Pipeline::Entry* Pipeline::Find(size_t index) {
  const size_t delivered = taken_ - window_.size();
  return index < delivered ? nullptr : &window_[index - delivered];
}

void Pipeline::RetryOrFinish(Entry& entry, const absl::Status& status, absl::Time now) {
  const auto delay =
      RetryDelay(status, entry.attempts, entry.deadline - now, absl::Uniform(random_, 0.0, 1.0), options_.retry);
  if (!delay.has_value()) return Finish(entry, status);
  entry.state = State::kWaiting;
  entry.not_before = now + *delay;
}

void Pipeline::Finish(Entry& entry, absl::StatusOr<v1::ClassifyResponse> result) {
  window_bytes_ -= entry.bytes;
  entry.bytes = 0;
  entry.request = nullptr;
  entry.state = State::kFinished;
  entry.result = std::move(result);
}

void Pipeline::FinishEverything(const absl::Status& status) {
  outcome_ = status;
  source_ended_ = true;
  for (Entry& entry : window_) {
    if (entry.state != State::kFinished) Finish(entry, status);
  }
}

}  // namespace vitrine
