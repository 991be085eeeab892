// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AVERAGE_H_
#define VITRINE_TRAINER_AVERAGE_H_

#include <memory>
#include <vector>

#include "reference/module.h"

namespace vitrine {

// Exponential moving average of a model's weights (Polyak and Juditsky 1992). After step s its decay is
// min(decay, (1 + s) / (10 + s)), so that the first, random weights are soon forgotten. Buffers of floats, such as
// BatchNorm's statistics, are averaged likewise; others are copied.
// Thread-compatible.
class WeightAverage {
 public:
  // `average` is a model of the same kind; it becomes equal to `model`, which must outlive this.
  WeightAverage(const Module& model, std::unique_ptr<Module> average, double decay);

  // After `step` steps.
  void Update(int64_t step);

  const Module& module() const { return *average_; }
  std::unique_ptr<Module> Release() { return std::move(average_); }

 private:
  const Module& model_;
  std::unique_ptr<Module> average_;
  const double decay_;
};

// Makes `to`'s parameters and buffers equal to `from`'s, a model of the same kind.
void CopyTensors(const Module& from, const Module& to);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AVERAGE_H_
