// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_REQUEST_DRAIN_H_
#define VITRINE_SERVER_SERVE_REQUEST_DRAIN_H_

#include <cstdint>
#include <functional>

#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/process/clock.h"
#include "server/serve/request/ledger.h"

namespace vitrine {

struct DrainOptions {
  // Time for which the server still serves after its health service reports NOT_SERVING, so that load balancers have
  // time to notice.
  absl::Duration lame_duck = absl::ZeroDuration();
  // Time for accepted requests to finish after lame_duck. Requests that still wait at the end of this time are answered
  // with UNAVAILABLE.
  absl::Duration deadline = absl::Seconds(30);
};

// Shutdown of a server: lame duck, rejection of new requests, wait for accepted requests. Thread-safe.
class Drain {
 public:
  // Once no request is left to compute, answers are dropped if no client has read anything for this time.
  static constexpr absl::Duration kUnreadGrace = absl::Seconds(2);
  // Maximum wait for accepted requests after Hurry.
  static constexpr absl::Duration kHurriedDeadline = absl::Seconds(1);

  Drain(const DrainOptions& options, const Clock& clock) : options_(options), clock_(clock) {}

  // Admitted requests without a delivered answer. Rejected requests do not count, because clients that retry at once
  // would keep the process running.
  struct Unanswered {
    bool computing = false;    // some requests still wait or compute
    int64_t answer_bytes = 0;  // bytes reserved for answers that clients have not read
    int64_t unsent_bytes = 0;  // bytes of all answers that the kernel has not accepted
  };

  // Waits for DrainOptions::lame_duck, then calls `refuse`, after which every new request must be answered UNAVAILABLE.
  // Then waits until all admitted requests are answered, at most for the deadline. Then waits until no request has
  // arrived for a quarter of a second, but at most half a second. Clients that send a request during this half second
  // get the error "draining" instead of a broken connection. Must not run twice at the same time.
  void Run(const Ledger& ledger, const std::function<void()>& refuse, const std::function<Unanswered()>& unanswered);

  // Ends the lame_duck wait at once, and limits the rest of a running or later Run to about a second. Thread-safe.
  void Hurry();

 private:
  // Waits until `done` returns true, at most for `longest` or, after Hurry, for the shorter of `longest` and `hurried`.
  void WaitFor(absl::Duration longest, absl::Duration hurried, const std::function<bool()>& done);
  // Waits for the answers. Returns false if it gave up on some answers.
  bool AwaitAnswers(const std::function<Unanswered()>& unanswered);
  void AwaitSilence(const Ledger& ledger);

  const DrainOptions options_;
  const Clock& clock_;
  Mutex mutex_;
  CondVar changed_;
  bool hurried_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_REQUEST_DRAIN_H_
