// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_OPTIMISE_AVERAGE_H_
#define VITRINE_TRAINER_OPTIMISE_AVERAGE_H_

#include <memory>
#include <vector>

#include "models/reference/module.h"

namespace vitrine {

// Exponential moving average of a model's weights (Polyak and Juditsky 1992), like timm's ModelEma. The decay is the
// same at every step, so the average keeps a share of decay^steps of the initial weights. Float buffers, such as
// BatchNorm's statistics, are averaged; other buffers are copied. Thread-compatible.
class WeightAverage {
 public:
  // Copies the tensors of `model` to `average`. Requires models with the same tensors. `model` must outlive this
  // object.
  WeightAverage(const Module& model, std::unique_ptr<Module> average, double decay);

  // Updates the average after a step.
  void Update();

  const Module& module() const { return *average_; }
  std::unique_ptr<Module> Release() { return std::move(average_); }

 private:
  const Module& model_;
  std::unique_ptr<Module> average_;
  const double decay_;
};

// Copies the parameters and buffers of `from` to `to`. Requires models with the same tensors.
void CopyTensors(const Module& from, const Module& to);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_OPTIMISE_AVERAGE_H_
