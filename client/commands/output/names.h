// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_OUTPUT_NAMES_H_
#define VITRINE_CLIENT_COMMANDS_OUTPUT_NAMES_H_

#include <string>

#include "vitrine/v1/attention.pb.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

// Returns the kind with its number of layers and heads, such as "mean 8x10". A rollout has only the kind: "rollout".
std::string OfferName(const v1::AttentionOffer& offer);

// Returns "loading", "ready", "retiring" or "failed".
std::string ModelStateName(v1::ModelState state);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_OUTPUT_NAMES_H_
