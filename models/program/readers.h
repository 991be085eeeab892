// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_PROGRAM_READERS_H_
#define VITRINE_MODELS_PROGRAM_READERS_H_

#include <vector>

#include "models/program/program.h"

namespace vitrine::program {

// Finds the only reader of a value. A back end can then compute the value and its reader together. For a result of the
// program (logits, stages, final tokens, projection), the program counts as one more reader. The program must outlive
// the index.
class SingleReaderIndex {
 public:
  explicit SingleReaderIndex(const Program& program);

  // Returns the only reader of the result of `op` if this reader is of kind `Kind`. Otherwise, or if `op` is null,
  // returns null.
  template <class Kind>
  const Operator* After(const Operator* op) const {
    const Operator* after = op == nullptr ? nullptr : only_[static_cast<size_t>(op->output.id)];
    return after != nullptr && after->As<Kind>() != nullptr ? after : nullptr;
  }
  const Operator* GeluAfter(const Operator* op) const;

 private:
  std::vector<const Operator*> only_;  // by value; null if no operator or several operators read the value
};

}  // namespace vitrine::program

#endif  // VITRINE_MODELS_PROGRAM_READERS_H_
