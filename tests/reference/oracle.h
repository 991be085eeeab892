// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_REFERENCE_ORACLE_H_
#define VITRINE_TESTS_REFERENCE_ORACLE_H_

#include <ATen/core/Tensor.h>

#include "reference/model.h"

namespace vitrine::testing {

// The logits [1, classes] of one image by the formulas of the papers, written out in fp64 without any of our layers;
// only parameters and config come from the model. Positions of a grid other than the table's are not covered.
at::Tensor OracleLogits(const Model& model, const at::Tensor& image);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_REFERENCE_ORACLE_H_
