#include "server/scheduling/caller_turns.h"

#include <algorithm>
#include <iterator>

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

// An account that is even and idle says nothing. Looking for them costs a pass, hence only now and then.
void CallerTurns::Leave(std::map<Id, Account>::iterator account) {
  --account->second.waiting;
  if (accounts_.size() < prune_at_) return;
  for (auto it = accounts_.begin(); it != accounts_.end();) {
    const bool idle = it->second.waiting == 0 && it->second.given <= now_;
    if (idle) ids_.erase(it->second.caller);
    it = idle ? accounts_.erase(it) : std::next(it);
  }
  prune_at_ = std::max<size_t>(64, 2 * accounts_.size());
}

}  // namespace vitrine
