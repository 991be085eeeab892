// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_PROGRAM_ABILITIES_H_
#define VITRINE_MODELS_PROGRAM_ABILITIES_H_

#include "models/abilities.h"
#include "models/program/program.h"

namespace vitrine::program {

// Returns the attention maps that a program offers. Rollout multiplies the attention weights of all layers, and is
// therefore offered only if softmax attention is the only operator that mixes tokens.
AttentionAbility AttentionOf(const Program& program);
// Returns the features that a program offers; none if it has no final tokens.
FeatureAbility FeaturesOf(const Program& program);

}  // namespace vitrine::program

#endif  // VITRINE_MODELS_PROGRAM_ABILITIES_H_
