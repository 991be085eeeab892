// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_CALLER_TURNS_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_CALLER_TURNS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "server/serve/scheduling/caller_table.h"

namespace vitrine {

// Returns the level at which a caller with the executor time `given` waits for its turn. Callers at one level go by the
// age of their requests: several tiny requests of a connection then run, and are answered, together, which costs the
// transport much less than an event for each.
inline absl::Duration TurnLevel(absl::Duration given) {
  return absl::Floor(given, absl::Milliseconds(1));
}

// Executor time by caller, for start-time fair queueing (Goyal, Vin and Cheng 1996). The next caller is the one with
// the least given time. A caller that returns after a pause starts at the level of the caller served last, or at its
// own if that is higher. So a caller saves up nothing while away, and gains nothing by leaving and returning. The
// difference between two callers that always have waiting requests stays below one batch and a level. Not thread-safe:
// the scheduler calls it under its lock.
class CallerTurns {
 public:
  using Id = CallerId;

  // Counts one more waiting request of this caller.
  Id Enter(const std::string& caller);
  // End the wait of one request. Run: the request runs and takes `cost` of executor time. Drop: it was dropped.
  void Run(Id id, absl::Duration cost);
  void Drop(Id id);

  // Returns the executor time given to the caller so far. Only differences are meaningful.
  absl::Duration given(Id id) const { return accounts_[id].given; }
  size_t callers() const { return accounts_.size(); }  // number of callers that have an account

 private:
  struct Account {
    int64_t waiting = 0;
    absl::Duration given;
  };
  void Leave(Account& account);

  CallerTable<Account> accounts_;
  absl::Duration now_;  // given executor time of the caller served last, before that service
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_CALLER_TURNS_H_
