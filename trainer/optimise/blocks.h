// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_OPTIMISE_BLOCKS_H_
#define VITRINE_TRAINER_OPTIMISE_BLOCKS_H_

#include <string>
#include <vector>

#include "models/reference/module.h"

namespace vitrine {

// Returns the block of a parameter: "blocks.0" for "blocks.0.attention.qkv.weight"; "" outside of blocks.
std::string BlockOf(const std::string& parameter);

// Returns the blocks of the parameters, each once, in order: "blocks.0", "class_blocks.1", "encoder.blocks.3".
// Parameters outside of blocks are left out.
std::vector<std::string> BlocksOf(const std::vector<NamedTensor>& parameters);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_OPTIMISE_BLOCKS_H_
