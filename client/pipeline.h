// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_PIPELINE_H_
#define VITRINE_CLIENT_PIPELINE_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/random/random.h"
#include "client/client.h"
#include "client/stream.h"

namespace vitrine {

// RESOURCE_EXHAUSTED if the request is larger than options.max_request_bytes.
absl::Status CheckRequestSize(const v1::ClassifyRequest& request, const ClientOptions& options);

// One run of Client::ClassifyTraced: what to send, what to send again, when to give up. All of it happens on the thread
// that calls Run.
//
// The window holds the requests that were taken and not yet delivered, in order. A request in it is waiting (to be sent
// for the first time or again), with the server, or finished.
class Pipeline {
 public:
  Pipeline(v1::Classifier::Stub& stub, const ClientOptions& options, const RequestSource& next,
           const TracedSink& deliver, InFlightLimit* limit, const std::function<bool()>& stop);

  absl::Status Run();

 private:
  enum class State { kWaiting, kSent, kFinished };
  struct Entry {
    size_t index = 0;
    std::shared_ptr<v1::ClassifyRequest> request;
    std::string caller_id;  // the request's own id, restored in the answer
    size_t bytes = 0;
    State state = State::kWaiting;
    int attempts = 0;
    bool alone = false;  // nothing else may be with the server: this one may be what ended the last stream
    absl::Time deadline = absl::InfiniteFuture();  // set when it is first sent
    absl::Time not_before = absl::InfinitePast();
    absl::Time sent = absl::InfinitePast();  // the last time
    absl::Duration latency;                  // of the last attempt
    absl::StatusOr<v1::ClassifyResponse> result = absl::UnknownError("not answered");
  };

  bool MayTake() const;
  void TakeFromSource();  // one
  void StopIfAsked();
  void SendWhatIsDue(absl::Time now);
  void Send(Entry& entry, absl::Time now);
  bool DeliverFirst();
  void HandleEvents(ClassifyStream::Events events);
  void HandleAnswer(v1::ClassifyStreamResponse answer, absl::Time arrived);
  void HandleEnd(absl::Status status, absl::Time now);
  void ExpireOld(absl::Time now);
  void DropAbandonedStream();
  absl::Time NextTimer(absl::Time now) const;

  size_t MostInFlight() const;
  Entry* Find(size_t index);  // null if it was delivered
  void RetryOrFinish(Entry& entry, const absl::Status& status, absl::Time now);
  void Finish(Entry& entry, absl::StatusOr<v1::ClassifyResponse> result);
  void FinishEverything(const absl::Status& status);

  v1::Classifier::Stub& stub_;
  const ClientOptions& options_;
  const RequestSource& next_;
  const TracedSink& deliver_;
  InFlightLimit* const limit_;         // may be null
  const std::function<bool()>& stop_;  // may be empty
  absl::BitGen random_;

  std::deque<Entry> window_;
  size_t taken_ = 0;         // requests taken from the source so far
  size_t window_bytes_ = 0;  // of the requests in the window that are not finished
  bool source_ended_ = false;
  bool stopped_ = false;  // by the caller

  std::unique_ptr<ClassifyStream> stream_;
  absl::flat_hash_map<std::string, size_t> sent_;  // id on the wire -> index; what the server still owes this stream
  int lost_streams_ = 0;                           // in a row, without an answer in between
  absl::Time lost_since_ = absl::InfinitePast();   // the first of them
  absl::Time reopen_ = absl::InfinitePast();       // no stream before; all requests wait together
  absl::Status outcome_;                           // of the whole run
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_PIPELINE_H_
