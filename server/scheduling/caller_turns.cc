// SPDX-License-Identifier: Apache-2.0
#include "server/scheduling/caller_turns.h"

#include <algorithm>

namespace vitrine {

CallerTurns::Id CallerTurns::Enter(const std::string& caller) {
  const auto [found, is_new] = ids_.try_emplace(caller, next_);
  if (is_new) accounts_[next_++].caller = caller;
  Account& account = accounts_[found->second];
  if (account.waiting++ == 0) account.given = std::max(account.given, now_);
  return found->second;
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

// An account that is even and idle says nothing.
void CallerTurns::Leave(std::map<Id, Account>::iterator account) {
  --account->second.waiting;
  prune_.Step(accounts_, [this](const auto& entry) {
    const bool idle = entry.second.waiting == 0 && entry.second.given <= now_;
    if (idle) ids_.erase(entry.second.caller);
    return idle;
  });
}

}  // namespace vitrine
