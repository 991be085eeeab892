// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ATTENTION_DISTANCE_H_
#define VITRINE_MODELS_ATTENTION_DISTANCE_H_

#include <span>

#include "models/token_layout.h"

namespace vitrine {

// Mean attention distance of a head, in pixels of the input: the distance between the centres of query and key patch,
// weighted by attention, averaged over the patch queries (Dosovitskiy et al. 2021, Figure 7; EIT, Figure 5).
//
// `weights` is the head's [n, n], row by row, with `prefix_tokens` before the grid. The prefix's rows and columns are
// left out, and every row is divided by what remains of its mass, unless `keep_class_mass`, where the prefix's mass
// counts as 0 pixels. Signed maps are taken by their magnitude, divided by the row's sum. A query without any mass has
// no distance and is left out of the average, which is 0 where no query has any.
double AttentionDistance(std::span<const float> weights, Grid grid, int prefix_tokens, int cell, bool keep_class_mass);

}  // namespace vitrine

#endif  // VITRINE_MODELS_ATTENTION_DISTANCE_H_
