// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_FAMILIES_EIT_CONFIG_H_
#define VITRINE_MODELS_FAMILIES_EIT_CONFIG_H_

#include "vitrine/v1/model.pb.h"

namespace vitrine {

// What an EitConfig says, for what builds the model and what counts its operators.

// Options that are on unless the config says otherwise.
bool ConvolvesPixels(const v1::EitConfig& eit);
bool ConvolvesChannels(const v1::EitConfig& eit);
bool HasPositions(const v1::EitConfig& eit);

// a_i, the channels that attend in block i = 1..L. With C // h units of h channels:
//   DECREASING  floor((C // h) i / L) h
//   INCREASING  the same of block L - i
//   INVARIANT   floor((C // h) / 2) h
// and a_L = C in all of them.
int AttentionChannels(const v1::EitConfig& eit, int block);

}  // namespace vitrine

#endif  // VITRINE_MODELS_FAMILIES_EIT_CONFIG_H_
