// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_PROGRAM_ABILITIES_H_
#define VITRINE_MODELS_PROGRAM_ABILITIES_H_

#include "models/abilities.h"
#include "models/program/program.h"

namespace vitrine::program {

// What a program can be asked for, from its operators: the maps of what attends in it. Rollout multiplies the weights
// of all layers, so it is offered where nothing but softmax attention moves anything between tokens.
AttentionAbility AttentionOf(const Program& program);
// Nothing without final tokens.
FeatureAbility FeaturesOf(const Program& program);

}  // namespace vitrine::program

#endif  // VITRINE_MODELS_PROGRAM_ABILITIES_H_
