// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_REQUEST_WINDOW_H_
#define VITRINE_CLIENT_REQUEST_WINDOW_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/client.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// RESOURCE_EXHAUSTED if the request is larger than options.max_request_bytes.
absl::Status CheckRequestSize(const v1::ClassifyRequest& request, const ClientOptions& options);

// What one run of Client::ClassifyTraced sends, sends again and gives up. It knows no wire and no clock; one thread.
// The Python client has the same rules (vitrine/_pipeline.py), and tests/client/stream_events.json is what both do.
//
// The window holds the requests that were taken and not yet delivered, in order. A request in it is waiting (to be sent
// for the first time or again), with the server, or finished.
class RequestWindow {
 public:
  // `options` and `limit`, which may be null, must outlive it. `uniform` gives random numbers in [0, 1).
  RequestWindow(const ClientOptions& options, InFlightLimit* limit, std::function<double()> uniform);

  // Whether the source shall be asked for another request.
  bool wants() const;
  void Take(absl::StatusOr<v1::ClassifyRequest> request);
  void EndSource() { source_ended_ = true; }
  // The source is ended, and what waits to be sent, for the first time or again, is CANCELLED.
  void Stop();

  // What to send at `now`, on a new stream if there is none. Not changed until it is answered or the stream is over.
  std::vector<std::shared_ptr<const v1::ClassifyRequest>> Due(absl::Time now);
  void Answered(v1::ClassifyStreamResponse answer, absl::Time arrived);
  // The stream is over; OK: without an error.
  void Ended(absl::Status status, absl::Time now);
  // Ends what is too late. True: the server works only for such, so the stream is to be cancelled; it is over then, as
  // if Ended had been told.
  bool Expire(absl::Time now);
  // Removes and returns what is finished at the front.
  std::optional<TracedResult> PopFinished();

  // When something is to be done even if nothing comes back, provided that Due was asked at `now`.
  absl::Time NextTimer(absl::Time now) const;
  // Nothing was taken that is not delivered.
  bool empty() const { return entries_.empty(); }
  // The server owes nothing.
  bool idle() const { return sent_.empty(); }
  // Why the run was given up; OK: it was not.
  const absl::Status& outcome() const { return outcome_; }

 private:
  enum class State { kWaiting, kSent, kFinished };
  struct Entry {
    size_t index = 0;
    std::shared_ptr<v1::ClassifyRequest> request;
    std::string caller_id;  // the request's own id, restored in the answer
    size_t bytes = 0;
    State state = State::kWaiting;
    int attempts = 0;
    int heard = 0;         // of these, those on a stream on which the server said something: what max_attempts counts
    bool alone = false;    // nothing else may be with the server: this one may be what ended the last stream
    absl::Duration limit;  // the options' deadline, or less where the caller said so
    absl::Time deadline = absl::InfiniteFuture();  // set when it is first sent
    absl::Time not_before = absl::InfinitePast();
    absl::Time sent = absl::InfinitePast();  // the last time
    absl::Duration latency;                  // of the last attempt
    absl::StatusOr<v1::ClassifyResponse> result = absl::UnknownError("not answered");
  };

  std::shared_ptr<const v1::ClassifyRequest> Send(Entry& entry, absl::Time now);
  bool LostStream(const absl::Status& status, absl::Time now);
  void Silent();
  size_t MostInFlight() const;
  Entry* Find(size_t index);  // null if it was delivered
  void RetryOrFinish(Entry& entry, const absl::Status& status, absl::Time now);
  void Finish(Entry& entry, absl::StatusOr<v1::ClassifyResponse> result);
  void FinishEverything(const absl::Status& status);

  const ClientOptions& options_;
  InFlightLimit* const limit_;
  const std::function<double()> uniform_;

  std::deque<Entry> entries_;
  size_t taken_ = 0;  // requests taken from the source so far
  size_t bytes_ = 0;  // of the requests in the window that are not finished
  bool source_ended_ = false;

  absl::flat_hash_map<std::string, size_t> sent_;  // id on the wire -> index; what the server still owes this stream
  bool heard_ = false;                             // something was answered on this stream
  int lost_streams_ = 0;                           // in a row, without an answer in between
  absl::Time lost_since_ = absl::InfinitePast();   // the first of them
  int silent_streams_ = 0;                         // the same of those that were cancelled
  absl::Time reopen_ = absl::InfinitePast();       // no stream before; all requests wait together
  absl::Status outcome_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_REQUEST_WINDOW_H_
