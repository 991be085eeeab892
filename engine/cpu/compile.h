// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_COMPILE_H_
#define VITRINE_ENGINE_CPU_COMPILE_H_

#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "engine/cpu/instructions.h"
#include "engine/cpu/linear_matrix.h"
#include "engine/cpu/plan.h"
#include "engine/precision.h"
#include "engine/weight_source.h"
#include "models/program/program.h"

namespace vitrine::engine {

// Weights that several plans of one program share, by the operator that they belong to.
class SharedMatrices {
 public:
  // `weights` outlive it.
  SharedMatrices(const program::Program& program, WeightSource& weights);

  // Null until it is packed.
  std::shared_ptr<const LinearMatrix> Find(const program::Operator& op) const;
  void Put(const program::Operator& op, std::shared_ptr<const LinearMatrix> matrix);
  // Bytes that those that are packed take less than as fp32.
  int64_t SavedBytes() const;

 private:
  std::map<const program::Operator*, std::shared_ptr<const LinearMatrix>> matrices_;
  // By weight that linear layers alone read: how many of these are not packed yet.
  std::map<int, int> unpacked_;
  WeightSource& weights_;
};

// The steps that compute the logits of `program`, and where `tokens` is set those of every stage and the final ones, in
// the precisions of `choice`, which `instructions` can multiply. Weights are copied. UNIMPLEMENTED names an operator
// that has no step where it stands.
absl::StatusOr<Plan> Compile(const program::Program& program, WeightSource& weights, const Instructions& instructions,
                             const PrecisionChoice& choice, bool tokens, SharedMatrices& matrices);

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_COMPILE_H_
