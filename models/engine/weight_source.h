// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_WEIGHT_SOURCE_H_
#define VITRINE_MODELS_ENGINE_WEIGHT_SOURCE_H_

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "models/program/program.h"

namespace vitrine::engine {

// Provides the weights of a program, by index, while the program is compiled. Called only on the compiling thread.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // Returns the elements of a weight; the array is valid until LetGo. May be called repeatedly.
  virtual const float* Floats(size_t weight) = 0;
  // Allows the owner to free a weight that is no longer needed. The compilation calls LetGo at most once per weight,
  // and possibly never.
  virtual void LetGo(size_t /*weight*/) {}
};

// Weights in memory; they must outlive the compilation.
class WeightsInMemory : public WeightSource {
 public:
  explicit WeightsInMemory(std::span<const float* const> weights) : weights_(weights) {}
  const float* Floats(size_t weight) override { return weights_[weight]; }

 private:
  const std::span<const float* const> weights_;
};

// Zero weights, for callers that need only the steps of a plan. The steps depend only on the shapes of the weights.
class ZeroWeights : public WeightSource {
 public:
  explicit ZeroWeights(const program::Program& program) {
    for (const program::Weight& weight : program.weights()) {
      zeros_.resize(std::max(zeros_.size(), static_cast<size_t>(weight.elements())));
    }
  }
  const float* Floats(size_t /*weight*/) override { return zeros_.data(); }

 private:
  std::vector<float> zeros_;
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_WEIGHT_SOURCE_H_
