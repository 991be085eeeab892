// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ATTENTION_DISTANCE_H_
#define VITRINE_MODELS_ATTENTION_DISTANCE_H_

#include <span>

#include "models/token_layout.h"

namespace vitrine {

// Returns the mean attention distance of a head in input pixels (Dosovitskiy et al. 2021, Figure 7; EIT, Figure 5).
// This is the distance between the centres of query and key patches, weighted by attention and averaged over the patch
// queries.
//
// `weights` is the head's [n, n] matrix for n tokens, row-major; its absolute values are used. The first
// `prefix_tokens` rows and columns precede the grid, whose cells have sides of `cell` input pixels. The prefix tokens
// are left out, and each row is divided by the sum of its other values. Queries that attend only to prefix tokens are
// excluded. With `keep_class_mass`, the prefix tokens instead count as keys at distance 0. Returns NaN if every
// query is excluded: such a head has no distance, and 0 would mean that each query attends to its own cell.
double AttentionDistance(std::span<const float> weights, Grid grid, int prefix_tokens, int cell, bool keep_class_mass);

}  // namespace vitrine

#endif  // VITRINE_MODELS_ATTENTION_DISTANCE_H_
