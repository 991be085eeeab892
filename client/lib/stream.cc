// SPDX-License-Identifier: Apache-2.0
#include "client/lib/stream.h"

#include <utility>

#include "absl/time/clock.h"
#include "client/lib/status.h"
#include "client/lib/traceparent.h"

namespace vitrine {

ClassifyStream::ClassifyStream(v1::Classifier::Stub& stub, const std::string& traceparent) {
  AddTraceparent(traceparent, context_);
  stub.async()->ClassifyStream(&context_, this);
  // Holds the call open, because writes start outside of gRPC's callbacks. Without AddHold, the call could end during a
  // write.
  AddHold();
  StartRead(&reading_);
  StartCall();
}

ClassifyStream::~ClassifyStream() {
  context_.TryCancel();
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&gone_));
}

void ClassifyStream::Send(std::shared_ptr<const v1::ClassifyRequest> request) {
  absl::MutexLock lock(&mutex_);
  unsent_.push_back(std::move(request));
  WriteNext();
}

void ClassifyStream::Finish() {
  absl::MutexLock lock(&mutex_);
  finishing_ = true;
  WriteNext();
}

ClassifyStream::Events ClassifyStream::Wait(absl::Time until) {
  absl::MutexLock lock(&mutex_);
  const auto something = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !events_.answers.empty() || events_.ended.has_value();
  };
  mutex_.AwaitWithDeadline(absl::Condition(&something), until);
  return std::exchange(events_, {});
}

void ClassifyStream::WriteNext() {
  if (writing_ || closed_) return;
  if (!unsent_.empty()) {
    writing_ = true;
    grpc::WriteOptions options;
    if (unsent_.size() > 1) options.set_buffer_hint();  // sent together with the next request
    StartWrite(unsent_.front().get(), options);
  } else if (finishing_) {
    finishing_ = false;
    StartWritesDone();
  }
}

void ClassifyStream::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  writing_ = false;
  unsent_.pop_front();
  if (ok) WriteNext();  // after a failed write, the call is ending, and the pending read reports this
}

void ClassifyStream::OnReadDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  if (ok) {
    events_.answers.push_back({std::exchange(reading_, {}), absl::Now()});
    StartRead(&reading_);
  } else {
    closed_ = true;
    RemoveHold();
  }
}

void ClassifyStream::OnDone(const grpc::Status& status) {
  absl::MutexLock lock(&mutex_);
  unsent_.clear();
  events_.ended = FromGrpc(status);
  gone_ = true;
}

}  // namespace vitrine
