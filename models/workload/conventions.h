// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_WORKLOAD_CONVENTIONS_H_
#define VITRINE_MODELS_WORKLOAD_CONVENTIONS_H_

#include <cstdint>

#include "models/workload/workload.h"

namespace vitrine {

// Each paper's definition of a model's cost, as pure functions of the operator list. Papers 000 and 004 print no cost
// of a model; docs/research/parity.md compares the formulas of paper 004's Table 1 with ours.

// Returns the number of trainable parameters of all operators. Class token, positions and codes count for the operators
// that add them.
int64_t Parameters(const Workload& workload);

// Returns the number of multiply-adds of matrix products and convolutions only. Paper 002 prints this as FLOPs.
int64_t Macs(const Workload& workload);

// Returns the number of operations as paper 001 (EIT) counts them. A multiply-add counts 2. Each element counts 9 for
// LayerNorm, 4 for GELU, 5 for softmax, 1 for scaling a logit, and 1 for an addition (residual, positions, two
// branches). Each output of a k x k pool counts k x k. Biases, BatchNorm and ReLU count 0. Requires operators of
// Form::kPublished.
int64_t Flops001(const Workload& workload);

// Returns the number of operations as paper 003 (the review) counts them, after correction of the errors in its tables.
// A multiply-add counts 2. In transformer blocks, each element counts 6 for LayerNorm, 1 for GELU, 3 for softmax, 1 for
// scaling, and 1 for an addition. Outside the blocks, only matrix products count, because the tables lack positions and
// the last norm.
int64_t Flops003(const Workload& workload);

// Returns the number of operations of one operator, for intensities and rooflines. Each element counts as Flops003
// counts it in a transformer block. For operators that paper 003 does not list, each element counts 2 for BatchNorm and
// affine layers, 3 for normalisation to unit length, 1 for ReLU, and k x k for a k x k pool.
int64_t FlopsOf(const Operator& op);

}  // namespace vitrine

#endif  // VITRINE_MODELS_WORKLOAD_CONVENTIONS_H_
