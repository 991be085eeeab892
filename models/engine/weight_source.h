// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_WEIGHT_SOURCE_H_
#define VITRINE_MODELS_ENGINE_WEIGHT_SOURCE_H_

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "models/program/program.h"

namespace vitrine::engine {

// Provides the weights of a program to a compilation, by index. Called only on the compiling thread.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // Returns as many floats as the weight has elements, valid until LetGo. May be called repeatedly.
  virtual const float* Floats(size_t weight) = 0;
  // Allows the owner to free a weight, which is no longer needed. Called at most once per weight, and for some weights
  // never.
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

// Weights that are all zero, for callers that need only the steps of a plan, which depend only on the weights' shapes.
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
