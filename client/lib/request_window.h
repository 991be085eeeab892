// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_REQUEST_WINDOW_H_
#define VITRINE_CLIENT_LIB_REQUEST_WINDOW_H_

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
#include "client/lib/client.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Returns RESOURCE_EXHAUSTED if the request is larger than options.max_request_bytes.
absl::Status CheckRequestSize(const v1::ClassifyRequest& request, const ClientOptions& options);

// Rules by which a run of Client::ClassifyTraced sends, retries and gives up requests. Has no I/O and no clock; used by
// one thread. The Python client follows the same rules (vitrine/_pipeline.py), and tests/client/lib/stream_events.json
// tests both clients.
//
// The window holds, in order, the requests that were taken and not yet delivered. A request is waiting (for its first
// or a further attempt), sent, or finished.
class RequestWindow {
 public:
  // `options` and `limit` must outlive this object; `limit` may be null. `uniform` returns random numbers in [0, 1).
  RequestWindow(const ClientOptions& options, InFlightLimit* limit, std::function<double()> uniform);

  // Returns true if another request should be taken from the source.
  bool wants() const;
  void Take(absl::StatusOr<v1::ClassifyRequest> request);
  void EndSource() { source_ended_ = true; }
  // Ends the source. Requests that wait for an attempt become CANCELLED.
  void Stop();

  // Returns the requests to send at `now`. If no stream is open, the caller opens one. A request does not change until
  // it is answered or its stream ends.
  std::vector<std::shared_ptr<const v1::ClassifyRequest>> Due(absl::Time now);
  void Answered(v1::ClassifyStreamResponse answer, absl::Time arrived);
  // Records the end of the stream. OK: the stream ended without an error.
  void Ended(absl::Status status, absl::Time now);
  // Finishes requests whose deadline has passed. Returns true if the deadlines of all requests at the server
  // have passed. Then the caller must cancel the stream, and must not call Ended for the stream.
  bool Expire(absl::Time now);
  // Removes and returns the first request if it is finished.
  std::optional<TracedResult> PopFinished();

  // Returns the time at which the caller must act if no event comes earlier. Requires that Due was called with the same
  // `now`.
  absl::Time NextTimer(absl::Time now) const;
  // Returns true if every taken request was delivered.
  bool empty() const { return entries_.empty(); }
  // Returns true if no request is at the server.
  bool idle() const { return sent_.empty(); }
  // Reason why the run was given up; OK: it was not given up.
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
    int heard = 0;         // attempts on streams with at least one answer; only these attempts count for max_attempts
    bool alone = false;    // true: must be sent alone, because this request may have broken a stream
    absl::Duration limit;  // deadline of the options, or the request's time_limit if it is shorter
    absl::Time deadline = absl::InfiniteFuture();  // set when the request is first sent
    absl::Time not_before = absl::InfinitePast();
    absl::Time sent = absl::InfinitePast();  // time of the last attempt
    absl::Duration latency;                  // latency of the last attempt
    absl::StatusOr<v1::ClassifyResponse> result = absl::UnknownError("not answered");
  };

  std::shared_ptr<const v1::ClassifyRequest> Send(Entry& entry, absl::Time now);
  bool LostStream(const absl::Status& status, absl::Time now);
  void Silent();
  size_t MostInFlight() const;
  Entry* Find(size_t index);  // null if the request was delivered
  void RetryOrFinish(Entry& entry, const absl::Status& status, absl::Time now);
  void Finish(Entry& entry, absl::StatusOr<v1::ClassifyResponse> result);
  void FinishEverything(const absl::Status& status);

  const ClientOptions& options_;
  InFlightLimit* const limit_;
  const std::function<double()> uniform_;

  std::deque<Entry> entries_;
  size_t taken_ = 0;  // requests taken from the source so far
  size_t bytes_ = 0;  // total size of the unfinished requests in the window
  bool source_ended_ = false;

  absl::flat_hash_map<std::string, size_t> sent_;  // id on the wire -> index; requests in flight on this stream
  bool heard_ = false;                             // true: this stream had an answer
  int lost_streams_ = 0;                           // streams lost since the last answer
  absl::Time lost_since_ = absl::InfinitePast();   // time when the first of lost_streams_ was lost
  int silent_streams_ = 0;                         // streams given up by Expire since the last answer
  absl::Time reopen_ = absl::InfinitePast();       // time before which no stream is opened; all requests wait
  absl::Status outcome_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_REQUEST_WINDOW_H_
