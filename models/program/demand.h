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
// the patch tokens after the last class block are not read.
std::vector<Demand> DemandOf(const Program& program, const std::vector<Value>& results);

// Returns the values that the reference always computes: the logits, and the tokens after each block. Tokens after
// class blocks, which end with a JoinClass, are excluded: otherwise their patch tokens would be computed, although no
// operator reads them.
std::vector<Value> ResultsOfRun(const Program& program);

}  // namespace vitrine::program

#endif  // VITRINE_MODELS_PROGRAM_DEMAND_H_
