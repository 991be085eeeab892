// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/caller_turns.h"

#include <algorithm>
#include <utility>

namespace vitrine {

CallerTurns::Id CallerTurns::Enter(const std::string& caller) {
  const auto known = ids_.find(caller);
  const Id id = known == ids_.end() ? Open(caller) : known->second;
  Account& account = accounts_.find(id)->second;
  if (account.waiting++ == 0) account.given = std::max(account.given, now_);
  return id;
}

CallerTurns::Id CallerTurns::Open(const std::string& caller) {
  Account account;
  account.caller = caller;
  accounts_.emplace(next_, std::move(account));
  ids_.emplace(caller, next_);
  return next_++;
}

void CallerTurns::Run(Id id, absl::Duration cost) {
  const auto account = accounts_.find(id);
  now_ = std::max(now_, account->second.given);
  account->second.given += cost;
  Leave(account);
}

void CallerTurns::Drop(Id id) {
  Leave(accounts_.find(id));
}

// Erases idle accounts at or below the current level, because a new account would be equal.
void CallerTurns::Leave(std::map<Id, Account>::iterator account) {
  --account->second.waiting;
  prune_.Step(accounts_, [this](const auto& entry) {
    const bool idle = entry.second.waiting == 0 && entry.second.given <= now_;
    if (idle) ids_.erase(entry.second.caller);
    return idle;
  });
}

}  // namespace vitrine
