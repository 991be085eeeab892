// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_MATRICES_LINEAR_MATRIX_H_
#define VITRINE_MODELS_ENGINE_CPU_MATRICES_LINEAR_MATRIX_H_

#include <cstdint>
#include <variant>

#include "models/engine/cpu/matrices/narrow_matrix.h"
#include "models/engine/cpu/matrices/packed_matrix.h"
#include "models/engine/precision.h"

namespace vitrine::engine {

// Weights and bias of a linear layer, in the precision of the layer. Immutable; thread-safe.
class LinearMatrix {
 public:
  explicit LinearMatrix(PackedMatrix matrix);
  explicit LinearMatrix(NarrowMatrix matrix);

  int64_t inputs() const { return inputs_; }
  int64_t outputs() const { return outputs_; }
  int64_t weights() const { return inputs_ * outputs_; }
  Precision precision() const { return precision_; }
  // Returns the size of the weights in memory, in units of 4 bytes.
  int64_t weight_floats() const { return weight_floats_; }

  const PackedMatrix* wide() const { return std::get_if<PackedMatrix>(&matrix_); }    // null if narrow
  const NarrowMatrix* narrow() const { return std::get_if<NarrowMatrix>(&matrix_); }  // null if fp32

 private:
  std::variant<PackedMatrix, NarrowMatrix> matrix_;
  int64_t inputs_;
  int64_t outputs_;
  int64_t weight_floats_;
  Precision precision_;
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_MATRICES_LINEAR_MATRIX_H_
