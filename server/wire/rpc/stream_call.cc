// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/stream_call.h"

#include <algorithm>

#include "server/wire/rpc/grpc_status.h"

namespace vitrine {

// Holds the lock, so that the call comes back when it keeps itself; and it does not if asking throws.
void StreamCall::Request(grpc::ServerCompletionQueue* cq) {
  MutexLock lock(mutex_);
  Ask(cq);
  self_ = shared_from_this();
}

void StreamCall::Close() {
  MutexLock lock(mutex_);
  closing_ = true;
  MaybeFinish();
}

void StreamCall::OnRequested(bool ok) {
  const std::shared_ptr<StreamCall> keep = TakeSelf();
  if (!ok) return;
  queue_.Renew(post_, parts_);
  {
    MutexLock lock(mutex_);
    self_ = keep;
    tags_ = 2;  // done_ and finished_
  }
  absl::Status opened = origin_.Open(parts_, rpc_, context_, keep);
  MutexLock lock(mutex_);
  if (!opened.ok()) refused_ = std::move(opened);
  MaybeFinish();
  MaybeRead();
}

void StreamCall::OnRead(bool ok) {
  const auto keep = shared_from_this();
  std::shared_ptr<InFlight> read;
  {
    MutexLock lock(mutex_);
    reading_ = false;
    if (!ok) half_closed_ = true;
    // What came too late, or whose answer could reach nobody, is neither accepted nor answered.
    if (ok && !finishing_ && !broken_ && refused_.ok()) read = Line();
    if (read == nullptr) {
      MaybeFinish();
      return Release();
    }
  }
  Submit(std::move(read));
  MutexLock lock(mutex_);
  MaybeRead();
}

void StreamCall::OnWritten(bool ok) {
  const auto keep = shared_from_this();
  MutexLock lock(mutex_);
  Settle(*std::exchange(writing_, nullptr));
  if (!ok) broken_ = true;
  Continue();
  MaybeRead();
  Release();
}

void StreamCall::OnDone(bool) {
  const auto keep = shared_from_this();
  MutexLock lock(mutex_);
  if (context_.IsCancelled()) {
    cancelled_->store(true, std::memory_order_release);
    broken_ = true;
    Continue();
  }
  --tags_;
  Release();
}

void StreamCall::OnFinished(bool) {
  const auto keep = shared_from_this();
  MutexLock lock(mutex_);
  --tags_;
  Release();
}

CallContext StreamCall::ContextOf(InFlight& read, Method method) {
  CallContext call;
  call.method = method;
  call.cancelled = cancelled_;
  call.planned = [this, &read](int64_t bytes) {
    MutexLock lock(mutex_);
    read.bytes += bytes;
    answer_bytes_ += bytes;
  };
  return call;
}

bool StreamCall::IsIdTaken(const InFlight& read) {
  MutexLock lock(mutex_);
  return std::any_of(in_flight_.begin(), in_flight_.end(), [&read](const std::shared_ptr<InFlight>& other) {
    return other.get() != &read && !other->answered && other->id == read.id;
  });
}

void StreamCall::AnswerWith(InFlight& read, absl::StatusOr<grpc::ByteBuffer> bytes) {
  MutexLock lock(mutex_);
  read.answered = true;
  read.lost = !bytes.ok();
  if (bytes.ok()) {
    const auto size = static_cast<int64_t>(bytes->Length());
    answer_bytes_ += size - std::exchange(read.bytes, size);
    read.answer = *std::move(bytes);
  } else {  // there is no memory to say that there is none: the end of the stream says it
    refused_ = OutOfMemoryError();
  }
  Continue();
}

std::shared_ptr<StreamCall::InFlight> StreamCall::Line() {
  // The analysis looks into a lambda by itself.
  const auto line = [this, in_flight = &in_flight_]() -> absl::StatusOr<std::shared_ptr<InFlight>> {
    return in_flight->emplace_back(std::make_shared<InFlight>(InFlight{shared_from_this()}));
  };
  absl::StatusOr<std::shared_ptr<InFlight>> last = OrOutOfMemory(line);
  if (last.ok()) return *std::move(last);
  parts_.service.ledger().Accept();
  parts_.service.ledger().Answer();
  refused_ = last.status();
  return nullptr;
}

void StreamCall::MaybeRead() {
  if (reading_ || IsEnding() || finishing_) return;
  if (in_flight_.size() + (writing_ != nullptr ? 1 : 0) >= kMaxInFlight || answer_bytes_ >= kMaxAnswerBytes) return;
  reading_ = true;
  stream_.Read(&bytes_, &read_);
}

void StreamCall::Continue() {
  while (writing_ == nullptr) {
    std::shared_ptr<InFlight> next = TakeNext();
    if (next == nullptr) break;
    if (next->lost && order_ == Order::kAsAsked) {  // no later answer may stand in its place
      cancelled_->store(true, std::memory_order_release);
      broken_ = true;
    }
    if (next->lost || broken_) {
      Settle(*next);
      continue;
    }
    writing_ = std::move(next);
    stream_.Write(writing_->answer, &written_);
  }
  MaybeFinish();
}

std::shared_ptr<StreamCall::InFlight> StreamCall::TakeNext() {
  const auto end = order_ == Order::kAsAsked && !in_flight_.empty() ? in_flight_.begin() + 1 : in_flight_.end();
  const auto next = std::find_if(in_flight_.begin(), end, [](const auto& request) { return request->answered; });
  if (next == end) return nullptr;
  std::shared_ptr<InFlight> taken = std::move(*next);
  in_flight_.erase(next);
  return taken;
}

void StreamCall::Settle(const InFlight& answered) {
  for (int i = 0; i < answered.requests; ++i) parts_.service.ledger().Answer();
  answer_bytes_ -= answered.bytes;
}

void StreamCall::MaybeFinish() {
  if (!IsEnding() || finishing_ || !in_flight_.empty() || writing_ != nullptr) return;
  const absl::Status ended = !refused_.ok()            ? refused_
                             : half_closed_ || broken_ ? absl::OkStatus()
                                                       : OrOutOfMemory([] { return DrainingError(); });
  finishing_ = true;
  FinishWith(ended, [this](const grpc::Status& status) { stream_.Finish(status, &finished_); });
}

void StreamCall::Release() {
  if (tags_ > 0 || reading_ || writing_ != nullptr) return;
  parts_.streams.Remove(self_);
  self_.reset();  // whoever holds the lock keeps the call too
}

std::shared_ptr<StreamCall> StreamCall::TakeSelf() {
  MutexLock lock(mutex_);
  return std::move(self_);
}

}  // namespace vitrine
