// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/caller_turns.h"

#include <algorithm>

namespace vitrine {

CallerTurns::Id CallerTurns::Enter(const std::string& caller) {
  const Id id = accounts_.Enter(caller);
  Account& account = accounts_[id];
  if (account.waiting++ == 0) {
    account.time.given = std::max(account.time.given, now_);
    account.time.Start();
  }
  return id;
}

void CallerTurns::Run(Id id, absl::Duration cost) {
  Account& account = accounts_[id];
  now_ = std::max(now_, account.time.start);
  account.time.Add(cost);
  Leave(account);
}

void CallerTurns::Drop(Id id) {
  Leave(accounts_[id]);
}

// Ends the wait of one request. Erases idle accounts whose time is at most `now_`, because a new account would have
// equal values.
void CallerTurns::Leave(Account& account) {
  --account.waiting;
  accounts_.Prune([this](Id, const Account& seen) { return seen.waiting == 0 && seen.time.given <= now_; });
}

}  // namespace vitrine
