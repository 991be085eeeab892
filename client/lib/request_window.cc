// SPDX-License-Identifier: Apache-2.0
#include "client/lib/request_window.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/lib/in_flight_limit.h"
#include "client/lib/status.h"

namespace vitrine {
namespace {

// Limits of the window: its number of requests, as a multiple of max_in_flight, and the bytes of its unfinished
// requests. A full window takes no requests. A finished request stays until all earlier requests are delivered.
constexpr size_t kWindowPerSlot = 4;
constexpr size_t kMaxWindowBytes = size_t{256} << 20;
// A server counts as lost after this many consecutive streams without an answer in time. A single such stream may be
// due to slow images; the InFlightLimit of an evaluation then falls, so that later answers come in time.
constexpr int kMostSilentStreams = 3;
// Smallest time_limit, used for a request that is sent at its deadline, because the server rejects 0.
constexpr absl::Duration kShortestLimit = absl::Milliseconds(1);

// Returns true if fewer requests in flight would have helped: the request was rejected for overload, or its answer was
// too late.
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

RequestWindow::RequestWindow(const ClientOptions& options, InFlightLimit* limit, std::function<double()> uniform)
    : options_(options), limit_(limit), uniform_(std::move(uniform)) {}

bool RequestWindow::wants() const {
  return !source_ended_ && entries_.size() < kWindowPerSlot * static_cast<size_t>(options_.max_in_flight) &&
         bytes_ < kMaxWindowBytes;
}

void RequestWindow::Take(absl::StatusOr<v1::ClassifyRequest> request) {
  Entry& entry = entries_.emplace_back();
  entry.index = taken_++;
  if (!request.ok()) return Finish(entry, request.status());
  entry.request = std::make_shared<v1::ClassifyRequest>(*std::move(request));
  entry.caller_id = entry.request->request_id();
  entry.limit = options_.deadline;
  if (entry.request->has_time_limit()) {
    entry.limit = std::min(entry.limit, absl::Seconds(entry.request->time_limit()));
  }
  entry.bytes = entry.request->ByteSizeLong();
  bytes_ += entry.bytes;
  if (absl::Status status = CheckRequestSize(*entry.request, options_); !status.ok()) Finish(entry, status);
}

void RequestWindow::Stop() {
  source_ended_ = true;
  for (Entry& entry : entries_) {
    if (entry.state == State::kWaiting) Finish(entry, absl::CancelledError("cancelled before it was sent"));
  }
}

std::vector<std::shared_ptr<const v1::ClassifyRequest>> RequestWindow::Due(absl::Time now) {
  std::vector<std::shared_ptr<const v1::ClassifyRequest>> due;
  if (now < reopen_) return due;
  for (Entry& entry : entries_) {
    if (sent_.size() >= MostInFlight() || (entry.state == State::kSent && entry.alone)) break;
    if (entry.state != State::kWaiting || entry.not_before > now) continue;
    if (entry.alone && !sent_.empty()) break;
    due.push_back(Send(entry, now));
    if (entry.alone) break;
  }
  return due;
}

std::shared_ptr<const v1::ClassifyRequest> RequestWindow::Send(Entry& entry, absl::Time now) {
  if (entry.attempts == 0) entry.deadline = now + entry.limit;
  ++entry.attempts;
  entry.sent = now;
  entry.state = State::kSent;
  // Ids must be unique within a stream, also among the attempts of one request.
  const std::string id = absl::StrCat(entry.index, "-", entry.attempts);
  entry.request->set_request_id(id);
  // A stream has no deadline per request, so the remaining time is sent as time_limit.
  if (entry.deadline < absl::InfiniteFuture()) {
    const absl::Duration left = std::max(entry.deadline - now, kShortestLimit);
    entry.request->set_time_limit(static_cast<float>(absl::ToDoubleSeconds(left)));
  }
  sent_[id] = entry.index;
  return entry.request;
}

std::optional<TracedResult> RequestWindow::PopFinished() {
  if (entries_.empty() || entries_.front().state != State::kFinished) return std::nullopt;
  Entry first = std::move(entries_.front());
  entries_.pop_front();
  return TracedResult{
      .index = first.index, .result = std::move(first.result), .attempts = first.attempts, .latency = first.latency};
}

void RequestWindow::Answered(v1::ClassifyStreamResponse answer, absl::Time arrived) {
  const auto sent = sent_.find(answer.request_id());
  if (sent == sent_.end()) {
    // The answer belongs to no request, so the other answers cannot be trusted either.
    FinishEverything(absl::InternalError(
        absl::StrCat("the server answered request \"", answer.request_id(), "\", which was not sent to it")));
    return;
  }
  Entry* entry = Find(sent->second);
  const int in_flight = static_cast<int>(sent_.size());
  sent_.erase(sent);
  heard_ = true;
  lost_streams_ = 0;
  silent_streams_ = 0;
  // The answer is too late: the request's deadline has passed.
  if (entry == nullptr || entry->state != State::kSent) return;
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
      ++entry->heard;
      RetryOrFinish(*entry, FromStreamError(answer.error()), arrived);
      return;
    case v1::ClassifyStreamResponse::RESULT_NOT_SET:
      Finish(*entry, absl::InternalError("the server sent an empty answer"));
      return;
  }
}

void RequestWindow::Ended(absl::Status status, absl::Time now) {
  const auto unanswered = std::exchange(sent_, {});
  const bool heard = std::exchange(heard_, false);
  if (unanswered.empty()) return;
  // OK and a remote cancellation mean that the server ended the stream.
  if (status.ok() || absl::IsCancelled(status)) status = absl::UnavailableError("the server ended the stream");
  const bool server_gone = absl::IsUnavailable(status);
  if (server_gone && !LostStream(status, now)) return FinishEverything(status);
  for (const auto& [id, index] : unanswered) {
    Entry* entry = Find(index);
    if (entry == nullptr || entry->state != State::kSent) continue;
    entry->state = State::kWaiting;
    if (server_gone) {
      if (heard) ++entry->heard;
      if (entry->heard >= options_.retry.max_attempts || entry->deadline <= reopen_) Finish(*entry, status);
    } else if (unanswered.size() == 1) {
      Finish(*entry, status);
    } else {
      entry->alone = true;  // any of these requests may have broken the stream, so each is sent alone
    }
  }
}

// Sets one wait for all requests, because with separate waits each request would open its own stream. Returns false if
// no further stream may be opened.
bool RequestWindow::LostStream(const absl::Status& status, absl::Time now) {
  if (lost_streams_++ == 0) lost_since_ = now;
  const auto delay =
      RetryDelay(status, lost_streams_, lost_since_ + options_.deadline - now, uniform_(), options_.retry);
  if (delay.has_value()) reopen_ = now + *delay;
  return delay.has_value();
}

// An expired request counts as in flight until the server answers it. If all requests in flight have expired, the
// caller must cancel the stream and open a new one, so that the server drops these requests.
bool RequestWindow::Expire(absl::Time now) {
  for (Entry& entry : entries_) {
    if (entry.state == State::kFinished || entry.deadline > now) continue;
    if (limit_ != nullptr && entry.state == State::kSent) limit_->OnOverload(entry.sent, now);
    Finish(entry, absl::DeadlineExceededError(absl::StrCat("no answer within ", absl::FormatDuration(entry.limit))));
  }
  if (sent_.empty()) return false;
  for (const auto& [id, index] : sent_) {
    const Entry* entry = Find(index);
    if (entry != nullptr && entry->state == State::kSent) return false;
  }
  sent_.clear();
  heard_ = false;
  Silent();
  return true;
}

// Counts a silent stream. Gives up after kMostSilentStreams in a row, unless the source has ended and every request is
// finished.
void RequestWindow::Silent() {
  const bool over = source_ended_ && std::all_of(entries_.begin(), entries_.end(),
                                                 [](const Entry& entry) { return entry.state == State::kFinished; });
  if (++silent_streams_ < kMostSilentStreams || over) return;
  FinishEverything(absl::UnavailableError(absl::StrCat("the server does not answer: ", silent_streams_,
                                                       " times in a row no answer came within ",
                                                       absl::FormatDuration(options_.deadline))));
}

// A request that may be sent at `now` needs no timer: Due has sent it, or it waits for an answer to another request.
absl::Time RequestWindow::NextTimer(absl::Time now) const {
  absl::Time next = absl::InfiniteFuture();
  if (reopen_ > now) next = reopen_;
  for (const Entry& entry : entries_) {
    if (entry.state == State::kFinished) continue;
    next = std::min(next, entry.deadline);
    if (entry.state == State::kWaiting && entry.not_before > now) next = std::min(next, entry.not_before);
  }
  return next;
}

size_t RequestWindow::MostInFlight() const {
  const int most = limit_ == nullptr ? options_.max_in_flight : std::min(limit_->limit(), options_.max_in_flight);
  return static_cast<size_t>(most);
}

RequestWindow::Entry* RequestWindow::Find(size_t index) {
  const size_t delivered = taken_ - entries_.size();
  return index < delivered ? nullptr : &entries_[index - delivered];
}

void RequestWindow::RetryOrFinish(Entry& entry, const absl::Status& status, absl::Time now) {
  const auto delay = RetryDelay(status, entry.heard, entry.deadline - now, uniform_(), options_.retry);
  if (!delay.has_value()) return Finish(entry, status);
  entry.state = State::kWaiting;
  entry.not_before = now + *delay;
}

void RequestWindow::Finish(Entry& entry, absl::StatusOr<v1::ClassifyResponse> result) {
  bytes_ -= entry.bytes;
  entry.bytes = 0;
  entry.request = nullptr;
  entry.state = State::kFinished;
  entry.result = std::move(result);
}

void RequestWindow::FinishEverything(const absl::Status& status) {
  outcome_ = status;
  source_ended_ = true;
  for (Entry& entry : entries_) {
    if (entry.state != State::kFinished) Finish(entry, status);
  }
}

}  // namespace vitrine
