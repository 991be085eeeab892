// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_STREAM_H_
#define VITRINE_CLIENT_LIB_STREAM_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "vitrine/v1/classifier.grpc.pb.h"

namespace vitrine {

// One ClassifyStream call, as a queue of requests and a queue of events. RequestWindow decides what is sent.
//
// Created and used by one thread. gRPC's threads only move messages between the queues and the network.
class ClassifyStream final : private grpc::ClientBidiReactor<v1::ClassifyRequest, v1::ClassifyStreamResponse> {
 public:
  struct Answer {
    v1::ClassifyStreamResponse response;
    absl::Time arrived;  // time when the answer arrived, not when Wait returned
  };
  struct Events {
    std::vector<Answer> answers;
    // Status of the call, set once, after the last answer.
    std::optional<absl::Status> ended;
  };

  // Opens the stream; failures are reported as events. `traceparent` is the trace context; empty: none.
  ClassifyStream(v1::Classifier::Stub& stub, const std::string& traceparent);
  // Cancels the call unless it has ended, and waits until gRPC releases it.
  ~ClassifyStream() override;

  // Queues a request. The request must not change until an event has its answer or the end of the stream.
  void Send(std::shared_ptr<const v1::ClassifyRequest> request);
  // Half-closes the stream; the server ends the call after its last answer.
  void Finish();
  // Returns the events since the last call. If there are none, waits for one, at most until `until`.
  Events Wait(absl::Time until);

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  grpc::ClientContext context_;
  v1::ClassifyStreamResponse reading_;  // buffer of the pending read

  absl::Mutex mutex_;
  std::deque<std::shared_ptr<const v1::ClassifyRequest>> unsent_ ABSL_GUARDED_BY(mutex_);  // the front is being written
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // true: no further operation may start
  bool gone_ ABSL_GUARDED_BY(mutex_) = false;    // true: gRPC has released this object
  Events events_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_STREAM_H_
