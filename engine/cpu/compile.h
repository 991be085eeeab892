// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_COMPILE_H_
#define VITRINE_ENGINE_CPU_COMPILE_H_

#include <functional>
#include <map>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "engine/cpu/packed_matrix.h"
#include "engine/cpu/plan.h"
#include "models/program/program.h"

namespace vitrine::engine {

// Told that a weight, by its place in the program's, will not be read again: whoever owns it may let it go.
using ReleaseWeight = std::function<void(size_t weight)>;

// Weights that several plans of one program share, by the operator that they belong to.
class SharedMatrices {
 public:
  // `release` may be null.
  SharedMatrices(const program::Program& program, ReleaseWeight release);

  // Null until it is packed.
  std::shared_ptr<const PackedMatrix> Find(const program::Operator& op) const;
  void Put(const program::Operator& op, std::shared_ptr<const PackedMatrix> matrix);

 private:
  std::map<const program::Operator*, std::shared_ptr<const PackedMatrix>> matrices_;
  // By weight that linear layers alone read: how many of these are not packed yet.
  std::map<int, int> unpacked_;
  const ReleaseWeight release_;
};

// The steps that compute the logits of `program`, and where `tokens` is set those of every stage and the final ones.
// `weights` are in the program's order, each as many floats as its weight has elements; they are copied.
// UNIMPLEMENTED names an operator that has no step where it stands.
absl::StatusOr<Plan> Compile(const program::Program& program, std::span<const float* const> weights,
                             const Kernels& kernels, bool tokens, SharedMatrices& matrices);

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_COMPILE_H_
