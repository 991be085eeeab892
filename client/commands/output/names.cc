// SPDX-License-Identifier: Apache-2.0
#include "client/commands/output/names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/drawing/attention_words.h"

namespace vitrine {

std::string OfferName(const v1::AttentionOffer& offer) {
  const std::string name = AttentionKindName(offer.kind());
  return offer.kind() == v1::ROLLOUT ? name : absl::StrCat(name, " ", offer.layers(), "x", offer.heads());
}

std::string ModelStateName(v1::ModelState state) {
  const std::string& name = v1::ModelState_Name(state);
  return name.empty() ? "unknown" : absl::AsciiStrToLower(name);
}

}  // namespace vitrine
