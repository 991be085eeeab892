// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ATTENTION_DISTANCE_H_
#define VITRINE_MODELS_ATTENTION_DISTANCE_H_

#include <ATen/core/Tensor.h>

#include "models/packed_tokens.h"

namespace vitrine {

// Mean attention distance of every head, in pixels of the input: the distance between the centres of query and key
// patch, weighted by attention, averaged over the patch queries (Dosovitskiy et al. 2021, Figure 7; EIT, Figure 5).
//
// `weights` is [heads, n, n] with `prefix_tokens` before the grid; the result is [heads] fp64. The prefix's rows and
// columns are left out, and every row is divided by what remains of its mass, unless `keep_class_mass`, where the
// prefix's mass counts as 0 pixels. Signed maps are taken by their magnitude, divided by the row's sum.
at::Tensor AttentionDistance(const at::Tensor& weights, Grid grid, int prefix_tokens, int cell, bool keep_class_mass);

}  // namespace vitrine

#endif  // VITRINE_MODELS_ATTENTION_DISTANCE_H_
