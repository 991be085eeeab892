// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_COMPILE_H_
#define VITRINE_MODELS_ENGINE_CPU_COMPILE_H_

#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "models/engine/cpu/instructions.h"
#include "models/engine/cpu/matrices/linear_matrix.h"
#include "models/engine/cpu/plan.h"
#include "models/engine/precision.h"
#include "models/engine/weight_source.h"
#include "models/program/program.h"

namespace vitrine::engine {

// Packed weights, by operator; several plans of one program share them.
class SharedMatrices {
 public:
  // `weights` must outlive the object.
  SharedMatrices(const program::Program& program, WeightSource& weights);

  // Returns null if the matrix is not packed yet.
  std::shared_ptr<const LinearMatrix> Find(const program::Operator& op) const;
  void Put(const program::Operator& op, std::shared_ptr<const LinearMatrix> matrix);
  // Returns the bytes that the packed matrices save, compared to fp32.
  int64_t SavedBytes() const;

 private:
  std::map<const program::Operator*, std::shared_ptr<const LinearMatrix>> matrices_;
  // Number of matrices that are not packed yet, for each weight that only linear layers without a code (Linear::code)
  // read. When the number becomes 0, the weight is released.
  std::map<int, int> unpacked_;
  WeightSource& weights_;
};

// Compiles the steps that compute the logits of `program` in the precisions of `choice`, which `instructions` must
// support. With `tokens`, the plan also computes the tokens of every stage (see Lower). Weights are copied. Returns the
// errors of Lower.
absl::StatusOr<Plan> Compile(const program::Program& program, WeightSource& weights, const Instructions& instructions,
                             const PrecisionChoice& choice, bool tokens, SharedMatrices& matrices);

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_COMPILE_H_
