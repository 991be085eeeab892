// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_OPTIMISE_BLOCK_NORMS_H_
#define VITRINE_TRAINER_OPTIMISE_BLOCK_NORMS_H_

#include <vector>

#include "models/reference/module.h"

namespace vitrine {

// Returns the Euclidean norm of each block's gradient (0 if there is none), in the order of BlocksOf(parameters).
std::vector<double> BlockNorms(const std::vector<NamedTensor>& parameters);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_OPTIMISE_BLOCK_NORMS_H_
