// SPDX-License-Identifier: Apache-2.0
#include "models/program/demand.h"

#include <algorithm>
#include <cstddef>

namespace vitrine::program {
namespace {

class Walk {
 public:
  Walk(const Program& program, std::vector<Demand>& demands) : program_(program), demands_(demands) {}

  // Propagates the demand `wanted` for the result of `op` to its inputs.
  void Through(const Operator& op, Demand wanted) {
    if (op.As<JoinClass>() != nullptr) {
      if (wanted == Demand::kHeads) wanted = Ask(op.output, Demand::kAll);  // a join cannot write only two tokens
      Ask(op.inputs[0], Demand::kAll);
      for (size_t i = 1; wanted == Demand::kAll && i < op.inputs.size(); ++i) Ask(op.inputs[i], Demand::kAll);
    } else if (const TakeClass* take = op.As<TakeClass>()) {
      Ask(op.inputs[0], take->token == 0 ? Demand::kClass : take->token == 1 ? Demand::kHeads : Demand::kAll);
    } else if (op.As<TakeCells>() != nullptr) {
      Ask(op.inputs[0], Demand::kAll);
    } else if (const Attend* attend = op.As<Attend>()) {
      // Requests the rows of all queries, even if only some rows of the result are read, because an AttentionTap needs
      // a row of attention weights for every query.
      OfAttention(op, attend->class_query ? Demand::kClass : Demand::kAll);
    } else if (op.As<AttendLinearly>() != nullptr) {
      OfAttention(op, wanted);
    } else if (op.As<AttendChannels>() != nullptr) {
      for (const Value input : op.inputs) Ask(input, Demand::kAll);
    } else {
      // All other operators compute each row separately, or work on grids and copy class tokens. So they need only the
      // `wanted` rows of their inputs.
      for (const Value input : op.inputs) Ask(input, wanted);
    }
  }

 private:
  // Requests all rows of keys and values. If the queries are a separate value, requests only those rows of it that
  // `queries` selects.
  void OfAttention(const Operator& op, Demand queries) {
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      Ask(op.inputs[i], i == 0 && op.inputs.size() > 1 ? queries : Demand::kAll);
    }
  }

  // Raises the demand of a value to at least `wanted`, and returns the new demand.
  Demand Ask(Value value, Demand wanted) {
    if (program_.info(value).kind != ValueKind::kTokens) wanted = Demand::kAll;
    Demand& demand = demands_[static_cast<size_t>(value.id)];
    return demand = std::max(demand, wanted);
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

std::vector<Value> ResultsOfRun(const Program& program) {
  const std::vector<Value>& stages = program.stages();
  std::vector<Value> results = {program.logits()};
  for (const Operator& op : program.operators()) {
    const bool is_stage = std::find(stages.begin(), stages.end(), op.output) != stages.end();
    if (is_stage && op.As<JoinClass>() == nullptr) results.push_back(op.output);
  }
  return results;
}

}  // namespace vitrine::program
