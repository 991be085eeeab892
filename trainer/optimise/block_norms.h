// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_OPTIMISE_BLOCK_NORMS_H_
#define VITRINE_TRAINER_OPTIMISE_BLOCK_NORMS_H_

#include <vector>

#include "models/reference/module.h"

namespace vitrine {

// Returns the Euclidean norm of each block's gradient, in the order of BlocksOf(parameters). The norm is 0 for a block
// without gradients.
std::vector<double> BlockNorms(const std::vector<NamedTensor>& parameters);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_OPTIMISE_BLOCK_NORMS_H_
