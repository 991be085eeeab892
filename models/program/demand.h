// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_PROGRAM_DEMAND_H_
#define VITRINE_MODELS_PROGRAM_DEMAND_H_

#include <vector>

#include "models/program/program.h"

namespace vitrine::program {

// Rows of a value that are read. Maps, cells and rows use only kNone and kAll.
enum class Demand {
  kNone,
  kClass,  // only the first class token of each image
  kHeads,  // only the class and distillation tokens of each image
  kAll,
};

// Returns the demand of every value, by id, for computing only these results without training. For instance, nothing
// reads the patches after the last class block.
std::vector<Demand> DemandOf(const Program& program, const std::vector<Value>& results);

// Returns the logits and the values that the reference always computes: all tokens after each block, except for class
// blocks, which join new class tokens with the old cells.
std::vector<Value> ResultsOfRun(const Program& program);

}  // namespace vitrine::program

#endif  // VITRINE_MODELS_PROGRAM_DEMAND_H_
