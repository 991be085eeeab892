// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/shared_room.h"

namespace vitrine {

SharedRoom::Verdict SharedRoom::Check(const std::string& caller, int64_t amount, int64_t limit, bool shared) const {
  const int64_t free = limit - held_;
  if (amount > free) return Verdict::kFull;
  if (!shared) return Verdict::kFits;
  const auto own = callers_.find(caller);
  // Who holds nothing may always take what there is. Divided, since a limit may be as large as the type.
  if (own == callers_.end() || (own->second + amount) / kFree < free) return Verdict::kFits;
  return Verdict::kOverShare;
}

void SharedRoom::Take(const std::string& caller, int64_t amount) {
  if (amount == 0) return;
  callers_[caller] += amount;  // which may throw
  held_ += amount;
}

void SharedRoom::Give(const std::string& caller, int64_t amount) {
  if (amount == 0) return;
  held_ -= amount;
  const auto own = callers_.find(caller);
  own->second -= amount;
  if (own->second == 0) callers_.erase(own);
}

}  // namespace vitrine
