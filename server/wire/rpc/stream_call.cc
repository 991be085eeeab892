// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/stream_call.h"

#include <algorithm>

#include "server/serve/scheduling/inference_request.h"

namespace vitrine {

void StreamCall::Start() {
  if (rpc_.has_value()) {
    const absl::StatusOr<Caller> caller = Authorize(parts_, *rpc_, request());
    if (!caller.ok()) return Fault(caller.status());
  }
  parts_.streams.Add(std::static_pointer_cast<StreamCall>(shared_from_this()));
}

void StreamCall::Close() {
  OnFault(DrainingError());
}

// Cancels the requests in flight, whose answers can no longer be sent.
void StreamCall::OnDeadline() {
  cancelled()->store(true, std::memory_order_release);
  Finish(absl::DeadlineExceededError("Deadline Exceeded"));
}

void StreamCall::OnMessage(absl::StatusOr<MessageBytes> message) {
  const auto self = std::static_pointer_cast<StreamCall>(shared_from_this());
  std::shared_ptr<InFlight> read;
  {
    MutexLock lock(mutex_);
    // No request is accepted or answered after the end of the call, or once answers can no longer be sent.
    if (is_gone_ || end_.has_value()) return;
    read = std::make_shared<InFlight>(self);
    in_flight_.push_back(read);
    ++held_;
  }
  Submit(std::move(read), std::move(message));
  MutexLock lock(mutex_);
  if (IsFull()) PauseReading();
}

void StreamCall::OnHalfClosed() {
  std::deque<std::shared_ptr<InFlight>> sent;
  MutexLock lock(mutex_);
  if (!end_.has_value() || absl::IsUnavailable(*end_)) end_ = absl::OkStatus();
  Continue(sent);
}

void StreamCall::OnFault(const absl::Status& why) {
  std::deque<std::shared_ptr<InFlight>> sent;
  MutexLock lock(mutex_);
  if (!end_.has_value()) end_ = why;
  Continue(sent);
}

void StreamCall::OnGone() {
  parts_.streams.Remove(std::static_pointer_cast<StreamCall>(shared_from_this()));
  std::deque<std::shared_ptr<InFlight>> sent;
  MutexLock lock(mutex_);
  is_gone_ = true;
  Continue(sent);
}

absl::Status StreamCall::Describe(InFlight& read, Method method, CallContext& context) {
  context = ContextOf(method, opening());
  context.held = read.held;
  context.planned = [this, &read](int64_t bytes) {
    MutexLock lock(mutex_);
    read.bytes += bytes;
    answer_bytes_ += bytes;
  };
  // Counts the result but does not log it. The call passes an error on to ClassifyService, which logs the error.
  const absl::StatusOr<Caller> caller = parts_.identity.Authorize(*rpc_, CredentialsOf(request()));
  parts_.service.metrics().server().CountAuthorization(caller.status().code());
  context.caller = CallerOf(caller);
  return caller.status();
}

bool StreamCall::IsIdTaken(const InFlight& read) {
  MutexLock lock(mutex_);
  return std::any_of(in_flight_.begin(), in_flight_.end(), [&read](const std::shared_ptr<InFlight>& other) {
    return other.get() != &read && !other->is_answered && other->id == read.id;
  });
}

void StreamCall::Answer(const std::shared_ptr<InFlight>& read, std::string frame) {
  read->call->Compress(std::move(frame), [read](std::string frame) {
    if (read->held != nullptr) read->held->SetBytes(static_cast<int64_t>(frame.size()));
    read->call->AnswerWith(read, std::move(frame));
  });
}

void StreamCall::AnswerWith(const std::shared_ptr<InFlight>& read, std::string frame) {
  std::deque<std::shared_ptr<InFlight>> sent;
  MutexLock lock(mutex_);
  const auto size = static_cast<int64_t>(frame.size());
  answer_bytes_ += size - std::exchange(read->bytes, size);
  read->is_answered = true;
  read->answer = std::move(frame);
  Continue(sent);
}

void StreamCall::Continue(std::deque<std::shared_ptr<InFlight>>& sent) {
  if (is_gone_) return sent.swap(in_flight_);
  for (auto next = in_flight_.begin(); next != in_flight_.end();) {
    if (!(*next)->is_answered && order_ == Order::kAsReceived) break;
    if (!(*next)->is_answered) {
      ++next;
      continue;
    }
    sent.push_back(std::move(*next));
    next = in_flight_.erase(next);
    const std::shared_ptr<InFlight>& read = sent.back();
    SendMessage(*std::exchange(read->answer, std::nullopt),
                {read.get(), [read, held = AnswerResources::UntilSent(read->held)](void*) {}});
  }
  if (end_.has_value() && in_flight_.empty()) Finish(*end_);
}

void StreamCall::ResumeUnlessFull() {
  {
    MutexLock lock(mutex_);
    if (IsFull()) return;
  }
  ResumeReading();
}

void StreamCall::OnTaken(int64_t bytes) {
  bool resumes = false;
  {
    MutexLock lock(mutex_);
    --held_;
    answer_bytes_ -= bytes;
    resumes = !IsFull();
  }
  if (resumes) ResumeReading();
}

}  // namespace vitrine
