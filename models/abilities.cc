// SPDX-License-Identifier: Apache-2.0
#include "models/abilities.h"

#include <algorithm>

namespace vitrine {

const AttentionAbility::Offer* AttentionAbility::Find(v1::AttentionKind kind) const {
  const auto found = std::find_if(offers.begin(), offers.end(), [&](const Offer& offer) { return offer.kind == kind; });
  return found == offers.end() ? nullptr : &*found;
}

}  // namespace vitrine
