// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_REQUEST_DRAIN_H_
#define VITRINE_SERVER_SERVE_REQUEST_DRAIN_H_

#include <cstdint>
#include <functional>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/process/clock.h"
#include "server/serve/request/ledger.h"

namespace vitrine {

struct DrainOptions {
  // How long the server still serves after the health service says NOT_SERVING, so that load balancers notice.
  absl::Duration lame_duck = absl::ZeroDuration();
  // How long accepted requests may take to finish after that. What is left then is answered with UNAVAILABLE.
  absl::Duration deadline = absl::Seconds(30);
};

// The last stretch of a server's life: lame duck, refusing what is new, waiting for what was accepted. Thread-safe.
class Drain {
 public:
  // Once nothing is left to compute, answers that no client has taken for this long are given up.
  static constexpr absl::Duration kUnreadGrace = absl::Seconds(2);
  // The longest wait once hurried.
  static constexpr absl::Duration kHurriedDeadline = absl::Seconds(1);

  Drain(const DrainOptions& options, const Clock& clock) : options_(options), clock_(clock) {}

  // What was admitted and has no answer yet. Refusals are no part of it: callers who come back at once would keep the
  // process for as long as they like.
  struct Unanswered {
    bool computing = false;    // something still waits or computes
    int64_t answer_bytes = 0;  // reserved for answers, until clients have taken them
  };

  // Waits out the lame duck, calls `refuse` (from which on every new request is answered UNAVAILABLE), waits until all
  // that was admitted is answered, at most the deadline, and then until no caller has come for a quarter of a second,
  // half a second at most, so that those who have not heard yet read "draining" and not a broken connection. One thread
  // at a time.
  void Run(const Ledger& ledger, const std::function<void()>& refuse, const std::function<Unanswered()>& unanswered);

  // Ends the lame duck at once and leaves a running or coming Run no more than a second. Any thread.
  void Hurry();

 private:
  // Waits until `done`, at most until `longest` has passed, or `hurried` once hurried.
  void WaitFor(absl::Duration longest, absl::Duration hurried, const std::function<bool()>& done);
  // False if something was given up.
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
