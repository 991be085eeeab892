// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_PLAN_OPERATOR_WEIGHTS_H_
#define VITRINE_MODELS_ENGINE_PLAN_OPERATOR_WEIGHTS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "models/engine/plan/fold.h"
#include "models/engine/weight_source.h"
#include "models/program/program.h"

namespace vitrine::engine {

// Reads the weights of operators. The weights of a product are returned in the order in which the product sums over its
// inputs. Copyable. The program and the source must outlive the object.
class OperatorWeights {
 public:
  OperatorWeights(const program::Program& program, WeightSource& source) : program_(&program), source_(&source) {}

  // Returns weight `i` of the operator, valid until WeightSource::LetGo.
  std::span<const float> Of(const program::Operator& op, size_t i) const;
  std::vector<float> Copy(const program::Operator& op, size_t i) const;
  ColumnAffine OfBatchNorm(const program::Operator& op) const;
  // Returns the rows of weight and bias that a linear operator uses; the bias is zero if the operator has none.
  LinearWeights OfLinear(const program::Operator& op) const;
  // Returns the weights of a linear operator without the columns of its code (Linear::code). The bias is zero.
  LinearWeights OfLinearWithoutCode(const program::Operator& op) const;
  // Returns the weights of a convolution of images or maps as [outputs, kernel * kernel * inputs].
  LinearWeights OfConvolution(const program::Operator& op) const;
  // Returns the weights of a dense 3x3 convolution of cells, stored as [outputs, 9 * inputs]; the bias is zero.
  LinearWeights OfGridConvolution(const program::Operator& op) const;

 private:
  const program::Program* program_;
  WeightSource* source_;
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_PLAN_OPERATOR_WEIGHTS_H_
