// SPDX-License-Identifier: Apache-2.0
#include "models/reference/steps.h"

#include <set>

#include "models/program/readers.h"

namespace vitrine {
namespace {

using program::Operator;
using program::Program;

OperatorStep StepFrom(const Operator& op, const program::SingleReaderIndex& readers) {
  const auto* grid = op.As<program::ConvolveGrid>();
  if (const auto* linear = op.As<program::Linear>()) {
    const Operator* gelu = linear->code < 0 ? readers.GeluAfter(&op) : nullptr;
    return {&op, nullptr, gelu, gelu == nullptr ? op.output : gelu->output};
  }
  if (op.As<program::Convolve>() != nullptr) {
    const Operator* norm = readers.After<program::BatchNorm>(&op);
    const Operator* gelu = readers.GeluAfter(norm);
    return {&op, norm, gelu, gelu != nullptr ? gelu->output : norm != nullptr ? norm->output : op.output};
  }
  if (grid != nullptr && grid->depthwise) {
    const Operator* gelu = readers.GeluAfter(&op);
    const Operator* norm = readers.After<program::BatchNorm>(gelu);
    if (norm != nullptr) return {&op, norm, gelu, norm->output};
  }
  return {&op, nullptr, nullptr, op.output};
}

}  // namespace

std::vector<OperatorStep> StepsOf(const Program& program) {
  const program::SingleReaderIndex readers(program);
  std::vector<OperatorStep> steps;
  std::set<const Operator*> done;
  for (const Operator& op : program.operators()) {
    if (done.contains(&op)) continue;
    steps.push_back(StepFrom(op, readers));
    done.insert({steps.back().norm, steps.back().gelu});
  }
  return steps;
}

std::vector<std::vector<program::Value>> LastRead(const Program& program, const std::vector<OperatorStep>& steps) {
  std::vector<std::vector<program::Value>> last(steps.size());
  std::set<int> read = {program.images().id};
  for (size_t i = steps.size(); i-- > 0;) {
    for (const program::Value value : steps[i].op->inputs) {
      if (read.insert(value.id).second) last[i].push_back(value);
    }
  }
  return last;
}

}  // namespace vitrine
