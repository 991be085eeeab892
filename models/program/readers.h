// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_PROGRAM_READERS_H_
#define VITRINE_MODELS_PROGRAM_READERS_H_

#include <vector>

#include "models/program/program.h"

namespace vitrine::program {

// Which operators are the only ones to read a value: they may run with the one that makes it. What a program hands out
// (logits, stages, final tokens) has one reader more. Points into the program.
class OnlyReaders {
 public:
  explicit OnlyReaders(const Program& program);

  // The only reader of the result of `op`, if it is of this kind; null otherwise, and for a null `op`.
  template <class Kind>
  const Operator* After(const Operator* op) const {
    const Operator* after = op == nullptr ? nullptr : only_[static_cast<size_t>(op->output.id)];
    return after != nullptr && after->As<Kind>() != nullptr ? after : nullptr;
  }
  const Operator* GeluAfter(const Operator* op) const;

 private:
  std::vector<const Operator*> only_;  // by value; null where there are more or none
};

}  // namespace vitrine::program

#endif  // VITRINE_MODELS_PROGRAM_READERS_H_
