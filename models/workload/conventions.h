// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_WORKLOAD_CONVENTIONS_H_
#define VITRINE_MODELS_WORKLOAD_CONVENTIONS_H_

#include <cstdint>

#include "models/workload/workload.h"

namespace vitrine {

// Each paper's definition of a model's cost, as pure functions of the operator list. Papers 000 and 004 print no cost
// of a model; docs/research/parity.md compares the formulas of paper 004's Table 1 with ours.

// Number of trainable parameters of all operators. Class token, positions and codes count for the operators that add
// them.
int64_t Parameters(const Workload& workload);

// Number of multiply-adds of matrix products and convolutions only. Paper 002 prints this as FLOPs.
int64_t Macs(const Workload& workload);

// Number of operations by paper 001 (EIT): two per multiply-add; per element, 9 for LayerNorm, 4 for GELU, 5 for
// softmax, 1 for scaling a logit, 1 for an addition (residual, positions, two branches); k x k per output of a pool.
// Biases, BatchNorm and ReLU are free. Requires operators of Form::kPublished.
int64_t Flops001(const Workload& workload);

// Number of operations by paper 003 (the review), with the errors of its tables corrected: two per multiply-add; in the
// blocks, per element, 6 for LayerNorm, 1 for GELU, 3 for softmax, 1 for scaling, 1 for an addition. Outside the blocks
// only matrix products count, because the tables have no row for positions and the last norm.
int64_t Flops003(const Workload& workload);

// Cost of one operator, for intensities and rooflines: Flops003, extended to operators that the review lacks (BatchNorm
// and affine 2, normalisation to unit length 3, ReLU 1, pool k x k per output).
int64_t FlopsOf(const Operator& op);

}  // namespace vitrine

#endif  // VITRINE_MODELS_WORKLOAD_CONVENTIONS_H_
