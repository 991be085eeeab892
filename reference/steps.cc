// SPDX-License-Identifier: Apache-2.0
#include "reference/steps.h"

#include <set>

namespace vitrine {
namespace {

using program::Operator;
using program::Program;

// The operators that are the only ones to read a value.
class OnlyReaders {
 public:
  explicit OnlyReaders(const Program& program)
      : only_(static_cast<size_t>(program.values()), nullptr), counts_(only_.size(), 0) {
    for (const Operator& op : program.operators()) {
      for (const program::Value input : op.inputs) {
        const size_t value = static_cast<size_t>(input.id);
        only_[value] = ++counts_[value] == 1 ? &op : nullptr;
      }
    }
  }

  // The one that reads the result of `op`, if it is of this kind; null for a null `op` too.
  template <class Kind>
  const Operator* After(const Operator* op) const {
    const Operator* after = op == nullptr ? nullptr : only_[static_cast<size_t>(op->output.id)];
    return after != nullptr && after->As<Kind>() != nullptr ? after : nullptr;
  }
  const Operator* NormAfter(const Operator* op) const { return After<program::BatchNorm>(op); }
  const Operator* GeluAfter(const Operator* op) const {
    const Operator* after = After<program::Activate>(op);
    const bool gelu =
        after != nullptr && after->As<program::Activate>()->function == program::Activate::Function::kGelu;
    return gelu ? after : nullptr;
  }

 private:
  std::vector<const Operator*> only_;  // by value; null where there are more or none
  std::vector<int> counts_;
};

Step StepFrom(const Operator& op, const OnlyReaders& readers) {
  const auto* grid = op.As<program::ConvolveGrid>();
  if (op.As<program::Linear>() != nullptr) {
    const Operator* gelu = readers.GeluAfter(&op);
    return {&op, nullptr, gelu, gelu == nullptr ? op.output : gelu->output};
  }
  if (op.As<program::Convolve>() != nullptr) {
    const Operator* norm = readers.NormAfter(&op);
    const Operator* gelu = readers.GeluAfter(norm);
    return {&op, norm, gelu, gelu != nullptr ? gelu->output : norm != nullptr ? norm->output : op.output};
  }
  if (grid != nullptr && grid->depthwise) {
    const Operator* gelu = readers.GeluAfter(&op);
    const Operator* norm = readers.NormAfter(gelu);
    if (norm != nullptr) return {&op, norm, gelu, norm->output};
  }
  return {&op, nullptr, nullptr, op.output};
}

}  // namespace

std::vector<Step> StepsOf(const Program& program) {
  const OnlyReaders readers(program);
  std::vector<Step> steps;
  std::set<const Operator*> done;
  for (const Operator& op : program.operators()) {
    if (done.contains(&op)) continue;
    steps.push_back(StepFrom(op, readers));
    done.insert({steps.back().norm, steps.back().gelu});
  }
  return steps;
}

}  // namespace vitrine
