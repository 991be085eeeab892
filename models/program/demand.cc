// SPDX-License-Identifier: Apache-2.0
#include "models/program/demand.h"

#include <cstddef>

namespace vitrine::program {
namespace {

Demand Union(Demand a, Demand b) {
  if (a == Demand::kNone || a == b) return b;
  return b == Demand::kNone ? a : Demand::kAll;
}

class Walk {
 public:
  Walk(const Program& program, std::vector<Demand>& demands) : program_(program), demands_(demands) {}

  // `op` is asked for `wanted` of its result.
  void Through(const Operator& op, Demand wanted) {
    if (op.As<JoinClass>() != nullptr) {
      if (wanted != Demand::kCells) Ask(op.inputs[0], Demand::kAll);
      if (wanted != Demand::kClass) Ask(op.inputs[1], Demand::kAll);
    } else if (op.As<TakeClass>() != nullptr) {
      Ask(op.inputs[0], Demand::kClass);
    } else if (op.As<TakeCells>() != nullptr) {
      Ask(op.inputs[0], Demand::kCells);
    } else if (const Attend* attend = op.As<Attend>()) {
      OfAttention(op, attend->class_query ? Demand::kClass : wanted);
    } else if (op.As<AttendLinearly>() != nullptr) {
      OfAttention(op, wanted);
    } else if (op.As<AttendChannels>() != nullptr) {
      for (const Value input : op.inputs) Ask(input, Demand::kAll);
    } else {
      // What treats rows alone, and grids without their class tokens.
      for (const Value input : op.inputs) Ask(input, wanted);
    }
  }

 private:
  // Queries as wanted, if they are a value of their own; every key and value.
  void OfAttention(const Operator& op, Demand queries) {
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      Ask(op.inputs[i], i == 0 && op.inputs.size() > 1 ? queries : Demand::kAll);
    }
  }

  void Ask(Value value, Demand wanted) {
    if (program_.info(value).kind != ValueKind::kTokens) wanted = Demand::kAll;
    Demand& demand = demands_[static_cast<size_t>(value.id)];
    demand = Union(demand, wanted);
  }

  const Program& program_;
  std::vector<Demand>& demands_;
};

}  // namespace

std::vector<Demand> DemandOf(const Program& program, const std::vector<Value>& results) {
  std::vector<Demand> demands(static_cast<size_t>(program.values()), Demand::kNone);
  for (const Value result : results) demands[static_cast<size_t>(result.id)] = Demand::kAll;
  Walk walk(program, demands);
  for (auto op = program.operators().rbegin(); op != program.operators().rend(); ++op) {
    const Demand wanted = demands[static_cast<size_t>(op->output.id)];
    if (wanted != Demand::kNone) walk.Through(*op, wanted);
  }
  return demands;
}

}  // namespace vitrine::program
