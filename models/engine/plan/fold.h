// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_PLAN_FOLD_H_
#define VITRINE_MODELS_ENGINE_PLAN_FOLD_H_

#include <cstdint>
#include <span>
#include <vector>

#include "common/simd/view.h"

namespace vitrine::engine {

// Weights of y = x W^T + b during compilation. Adjacent operators that scale and shift columns are folded into W and b.
struct LinearWeights {
  std::vector<float> weight;  // [outputs, inputs]
  std::vector<float> bias;    // [outputs]

  int64_t outputs() const { return static_cast<int64_t>(bias.size()); }
  int64_t inputs() const { return static_cast<int64_t>(weight.size() / bias.size()); }
  cpu::View<const float> matrix() const { return {weight.data(), outputs(), inputs(), inputs()}; }

  // Replaces x by x * scale + shift, column by column: (x * scale + shift) W^T + b.
  void FoldBefore(std::span<const float> scale, std::span<const float> shift);
  // Replaces y by y * scale + shift, column by column.
  void FoldAfter(std::span<const float> scale, std::span<const float> shift);
};

// A scale and a shift per column.
struct ColumnAffine {
  std::vector<float> scale;
  std::vector<float> shift;
};

// An operator to fold into an adjacent product: the operator affects the product's inputs if `before` is true, else the
// product's outputs.
struct ColumnFold {
  bool before = false;
  ColumnAffine affine;
};
ColumnAffine AffineOfBatchNorm(std::span<const float> weight, std::span<const float> bias, std::span<const float> mean,
                               std::span<const float> variance, double epsilon);

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_PLAN_FOLD_H_
