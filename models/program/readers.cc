// SPDX-License-Identifier: Apache-2.0
#include "models/program/readers.h"

namespace vitrine::program {

SingleReaderIndex::SingleReaderIndex(const Program& program) : only_(static_cast<size_t>(program.values()), nullptr) {
  std::vector<int> counts(only_.size(), 0);
  for (const Value stage : program.stages()) ++counts[static_cast<size_t>(stage.id)];
  for (const Value result : {program.logits(), program.final_tokens(), program.projection()}) {
    if (result.id >= 0) ++counts[static_cast<size_t>(result.id)];
  }
  for (const Operator& op : program.operators()) {
    for (const Value input : op.inputs) {
      const size_t value = static_cast<size_t>(input.id);
      only_[value] = ++counts[value] == 1 ? &op : nullptr;
    }
  }
}

const Operator* SingleReaderIndex::GeluAfter(const Operator* op) const {
  const Operator* after = After<Activate>(op);
  return after != nullptr && after->As<Activate>()->function == Activate::Function::kGelu ? after : nullptr;
}

}  // namespace vitrine::program
