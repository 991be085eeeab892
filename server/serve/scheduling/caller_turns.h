// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_CALLER_TURNS_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_CALLER_TURNS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "server/serve/scheduling/caller_table.h"

namespace vitrine {

// Executor time of a caller, divided into turns. A turn ends after a millisecond of executor time, or when none of the
// caller's requests waits. So tiny requests that arrived together on a connection usually run in one turn and are
// answered together, which costs the transport less than separate answers.
struct TurnTime {
  absl::Duration given;  // executor time given so far
  absl::Duration start;  // `given` when the current turn began; the caller with the least `start` goes first

  void Start() { start = given; }
  void Add(absl::Duration cost) {
    given += cost;
    if (given - start >= absl::Milliseconds(1)) Start();
  }
};

// Executor time by caller, for start-time fair queueing (Goyal, Vin and Cheng 1996) of turns. The caller whose turn has
// the least start is served next. A caller that had no waiting requests restarts at the turn start of the caller served
// last, or at its own given time if that is higher. So a pause gives a caller no additional executor time. While two
// callers both have waiting requests, they are given the same executor time, with a difference below the time of one
// batch and one turn. Not thread-safe: the scheduler calls it under its lock.
class CallerTurns {
 public:
  using Id = CallerId;

  // Counts one more waiting request of this caller.
  Id Enter(const std::string& caller);
  // End the wait of one request. Run: the request runs and takes `cost` of executor time. Drop: the request is dropped.
  void Run(Id id, absl::Duration cost);
  void Drop(Id id);

  // Returns the executor time of the caller. Only the difference between the times of two callers is meaningful.
  const TurnTime& time(Id id) const { return accounts_[id].time; }
  size_t callers() const { return accounts_.size(); }  // returns the number of accounts

 private:
  struct Account {
    int64_t waiting = 0;
    TurnTime time;
  };
  void Leave(Account& account);

  CallerTable<Account> accounts_;
  absl::Duration now_;  // start of the turn of the caller served last
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_CALLER_TURNS_H_
