// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_PROGRAM_DEMAND_H_
#define VITRINE_MODELS_PROGRAM_DEMAND_H_

#include <vector>

#include "models/program/program.h"

namespace vitrine::program {

// Which rows of a value anybody reads. Of maps and rows only kNone and kAll.
enum class Demand {
  kNone,
  kClass,  // of tokens, the class tokens' alone
  kAll,
};

// Of every value of the program, by id, where these results are wanted and nothing is trained: after the last class
// block, say, nobody reads the patches.
std::vector<Demand> DemandOf(const Program& program, const std::vector<Value>& results);

// The logits, and what the reference computes on the way without being asked: a block's tokens whole,
// but for class blocks, which join what they computed with what they keep.
std::vector<Value> ResultsOfRun(const Program& program);

}  // namespace vitrine::program

#endif  // VITRINE_MODELS_PROGRAM_DEMAND_H_
