// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_REFERENCE_ORACLE_ORACLE_H_
#define VITRINE_TESTS_MODELS_REFERENCE_ORACLE_ORACLE_H_

#include <ATen/core/Tensor.h>

#include "models/reference/model.h"

namespace vitrine::testing {

// Returns the logits [1, classes] of one image, computed in fp64 from the formulas of the papers without any of our
// layers; uses only the model's parameters and config. Covers only grids equal to the position table's.
at::Tensor OracleLogits(const Model& model, const at::Tensor& image);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_REFERENCE_ORACLE_ORACLE_H_
