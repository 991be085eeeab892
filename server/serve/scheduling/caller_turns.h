// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_CALLER_TURNS_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_CALLER_TURNS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "absl/time/time.h"
#include "server/serve/scheduling/rolling_prune.h"

namespace vitrine {

// The account of executor time by caller: start-time fair queueing (Goyal, Vin and Cheng 1996). Each caller has been
// given so much; who has been given least is next. A caller that comes back after a silence starts where the one that
// was served last stood, so that silence saves up nothing, and keeps what it was given beyond that, so that leaving and
// coming back gains nothing. Between two callers that both wait all the time, the difference of what they are given
// stays below one batch. Not thread-safe: the scheduler calls it under its lock.
class CallerTurns {
 public:
  using Id = uint32_t;

  // A request of this caller begins to wait. Nothing has changed if it throws std::bad_alloc; the others never do.
  Id Enter(const std::string& caller);
  // It waits no longer: it runs and takes `cost` of executor time, or it was dropped and takes none.
  void Run(Id id, absl::Duration cost);
  void Drop(Id id);

  // What the caller was given so far. Only differences mean something.
  absl::Duration given(Id id) const { return accounts_.at(id).given; }
  size_t callers() const { return accounts_.size(); }  // that an account is kept for

 private:
  struct Account {
    std::string caller;
    int64_t waiting = 0;
    absl::Duration given;
  };
  Id Open(const std::string& caller);
  void Leave(std::map<Id, Account>::iterator account);

  std::map<Id, Account> accounts_;
  std::unordered_map<std::string, Id> ids_;  // not Abseil's, which std::bad_alloc breaks
  Id next_ = 0;
  absl::Duration now_;  // what the caller that was served last had been given before
  RollingPrune<std::map<Id, Account>> prune_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_CALLER_TURNS_H_
