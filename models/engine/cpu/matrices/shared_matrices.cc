// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "models/engine/cpu/compile.h"

namespace vitrine::engine {

SharedMatrices::SharedMatrices(const program::Program& program, WeightSource& weights) : weights_(weights) {
  const auto packs_first = [](const program::Operator& op) {
    const auto* linear = op.As<program::Linear>();
    return linear != nullptr && linear->code < 0;  // every call of Lower reads the weights of layers with a code
  };
  for (const program::Operator& op : program.operators()) {
    if (packs_first(op)) ++unpacked_[op.weights[0]];
  }
  for (const program::Operator& op : program.operators()) {
    for (size_t i = packs_first(op) ? 1 : 0; i < op.weights.size(); ++i) unpacked_.erase(op.weights[i]);
  }
}

std::shared_ptr<const LinearMatrix> SharedMatrices::Find(const program::Operator& op) const {
  const auto found = matrices_.find(&op);
  return found == matrices_.end() ? nullptr : found->second;
}

void SharedMatrices::Put(const program::Operator& op, std::shared_ptr<const LinearMatrix> matrix) {
  matrices_[&op] = std::move(matrix);
  if (op.weights.empty()) return;
  const auto left = unpacked_.find(op.weights[0]);
  if (left != unpacked_.end() && --left->second == 0) weights_.LetGo(static_cast<size_t>(left->first));
}

int64_t SharedMatrices::SavedBytes() const {
  int64_t floats = 0;
  for (const auto& [op, matrix] : matrices_) floats += matrix->weights() - matrix->weight_floats();
  return floats * static_cast<int64_t>(sizeof(float));
}

}  // namespace vitrine::engine
