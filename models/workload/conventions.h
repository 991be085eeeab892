// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_WORKLOAD_CONVENTIONS_H_
#define VITRINE_MODELS_WORKLOAD_CONVENTIONS_H_

#include <cstdint>

#include "models/workload/workload.h"

namespace vitrine {

// Each paper's definition of a model's cost, as pure functions of the operator list. Papers 000 and 004 print no figure
// for a model; docs/research/parity.md compares the formulas of paper 004's Table 1 with ours.

// Number of trainable parameters of all operators. Class token, positions and codes count for the operators that add
// them.
int64_t Parameters(const Workload& workload);

// Number of multiply-adds of matrix products and convolutions only. Paper 002 prints this as FLOPs.
int64_t Macs(const Workload& workload);

// Paper 001 (EIT): two per multiply-add; per element: LayerNorm 9, GELU 4, softmax 5, scaling of a logit 1, addition
// (residual, positions, two branches) 1; pool: k x k per output. Biases, BatchNorm and ReLU are free. For
// Form::kPublished only.
int64_t Flops001(const Workload& workload);

// Paper 003 (the review), with the errors of its tables corrected: two per multiply-add; in the blocks, per element:
// LayerNorm 6, GELU 1, softmax 3, scaling 1, addition 1. Outside the blocks only matrix products count: the tables have
// no row for positions and the last norm.
int64_t Flops003(const Workload& workload);

// Cost of one operator, for intensities and rooflines: Flops003, extended to operators that the review lacks (BatchNorm
// and affine 2, normalisation to unit length 3, ReLU 1, pool k x k per output).
int64_t FlopsOf(const Operator& op);

}  // namespace vitrine

#endif  // VITRINE_MODELS_WORKLOAD_CONVENTIONS_H_
