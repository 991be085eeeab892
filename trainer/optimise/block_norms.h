// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_OPTIMISE_BLOCK_NORMS_H_
#define VITRINE_TRAINER_OPTIMISE_BLOCK_NORMS_H_

#include <string>
#include <vector>

#include "models/reference/module.h"

namespace vitrine {

// Returns the blocks of the parameters in their order: "blocks.0", "class_blocks.1", "encoder.blocks.3". Parameters
// outside of blocks are left out.
std::vector<std::string> BlocksOf(const std::vector<NamedTensor>& parameters);

// Returns the Euclidean norm of the gradient of each of these blocks; 0 without a gradient.
std::vector<double> BlockNorms(const std::vector<NamedTensor>& parameters);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_OPTIMISE_BLOCK_NORMS_H_
