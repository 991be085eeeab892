// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_WEIGHT_SOURCE_H_
#define VITRINE_ENGINE_WEIGHT_SOURCE_H_

#include <cstddef>
#include <span>

namespace vitrine::engine {

// Where a compilation finds the weights of a program, by their places in it. Asked on the compiling thread alone.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // As many floats as the weight has elements; they stay until it is let go. May be asked again.
  virtual const float* Floats(size_t weight) = 0;
  // Will not be asked for again; whoever owns it may let it go. Told of most weights, each once.
  virtual void LetGo(size_t /*weight*/) {}
};

// All are in memory, and outlive the compilation.
class WeightsInMemory : public WeightSource {
 public:
  explicit WeightsInMemory(std::span<const float* const> weights) : weights_(weights) {}
  const float* Floats(size_t weight) override { return weights_[weight]; }

 private:
  const std::span<const float* const> weights_;
};

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_WEIGHT_SOURCE_H_
