// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_PROGRAM_DEMAND_H_
#define VITRINE_MODELS_PROGRAM_DEMAND_H_

#include <vector>

#include "models/program/program.h"

namespace vitrine::program {

// Rows of a value that are read. The demand of a value that is not of kind kTokens is kNone or kAll.
enum class Demand {
  kNone,
  kClass,  // only the first class token of each image
  kHeads,  // only the class and distillation tokens of each image
  kAll,
};

// Returns the demand of every value, by id, for a pass outside of training that computes only `results`. For instance,
// if `results` has only the logits and the head reads only the class token, the demand of the last block's result is
// kClass.
std::vector<Demand> DemandOf(const Program& program, const std::vector<Value>& results);

// Returns the values that the reference always computes: the logits, and the tokens after each block. Excludes the
// tokens after class blocks (blocks that end with a JoinClass). As results, they would make an engine compute the patch
// tokens after the last class block, although no operator reads those patch tokens.
std::vector<Value> ResultsOfRun(const Program& program);

}  // namespace vitrine::program

#endif  // VITRINE_MODELS_PROGRAM_DEMAND_H_
