// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ATTENTION_DISTANCE_H_
#define VITRINE_MODELS_ATTENTION_DISTANCE_H_

#include <span>

#include "models/token_layout.h"

namespace vitrine {

// Returns the mean attention distance of a head in input pixels: the distance between the centres of query and key
// patches, weighted by attention, averaged over the patch queries (Dosovitskiy et al. 2021, Figure 7; EIT, Figure 5).
//
// `weights` is the head's [n, n] matrix, row by row; `prefix_tokens` precede the grid. Rows and columns of the prefix
// are left out, and each row is divided by its remaining mass. With `keep_class_mass`, the mass of the prefix counts as
// 0 pixels instead. Signed values count by magnitude, divided by the row's sum of magnitudes. The average excludes
// queries without mass, whose whole attention is on the prefix; if no query has mass, the result is 0.
double AttentionDistance(std::span<const float> weights, Grid grid, int prefix_tokens, int cell, bool keep_class_mass);

}  // namespace vitrine

#endif  // VITRINE_MODELS_ATTENTION_DISTANCE_H_
