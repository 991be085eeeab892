// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_WORKLOAD_CONVENTIONS_H_
#define VITRINE_MODELS_WORKLOAD_CONVENTIONS_H_

#include <cstdint>

#include "models/workload/workload.h"

namespace vitrine {

// What each paper calls the cost of a model, as pure functions of the list of operators. Papers 000 and 004 print no
// figure for a model; 004 prints the formulas of its Table 1, which docs/research/parity.md gives beside ours.

// Trainable parameters of all operators. Class token, positions and codes belong to the operators that add them.
int64_t Parameters(const Workload& workload);

// Multiply-adds of matrix products and convolutions; everything else is free. Paper 002 prints this as FLOPs.
int64_t Macs(const Workload& workload);

// Paper 001 (EIT): two for every multiply-add, and per element LayerNorm 9, GELU 4, softmax 5, scaling of a logit 1,
// every addition of a residual, of positions or of two branches 1, a pool k x k for each output; biases, BatchNorm and
// ReLU are free. For the published form.
int64_t Flops001(const Workload& workload);

// Paper 003 (the review), as its tables are when their errors are corrected: two for every multiply-add, and per
// element of the blocks LayerNorm 6, GELU 1, softmax 3, scaling 1, addition 1. Of what is outside the blocks, matrix
// products alone: its tables have no row for positions and the last norm.
int64_t Flops003(const Workload& workload);

// Of one operator, for intensities and rooflines: Flops003's costs, extended to what the review does not have
// (BatchNorm and affine 2, normalisation to unit length 3, ReLU 1, a pool k x k for each output).
int64_t FlopsOf(const Operator& op);

}  // namespace vitrine

#endif  // VITRINE_MODELS_WORKLOAD_CONVENTIONS_H_
