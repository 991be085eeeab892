// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_STEP_H_
#define VITRINE_MODELS_ENGINE_CPU_STEP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "models/engine/cpu/frame.h"
#include "models/engine/precision.h"

namespace vitrine::engine {

// Dominant kind of work of a step.
enum class StepKind { kLinear, kProduct, kConvolution, kRows };

// Cost of a step on a frame. Memory traffic in the arena (FrameMemory) is not included.
struct StepCost {
  StepKind kind = StepKind::kRows;
  Precision precision = Precision::kFp32;  // precision of the products
  int64_t multiply_adds = 0;               // in products and convolutions
  int64_t outside_floats = 0;              // weights and pixels read from outside the arena
};

// A step of a plan. Computes one operator of the program and the operators folded into it. Immutable; Run may be called
// concurrently with different frames. Run allocates memory or takes locks only in position steps, in custom steps, and
// to fill an AttentionTap or a TokenTap.
class Step {
 public:
  virtual ~Step() = default;
  virtual void Run(const Frame& frame) const = 0;
  // Returns the size of the scratch memory that Run needs for this frame, in floats.
  virtual int64_t Scratch(const Frame& /*frame*/) const { return 0; }
  virtual StepCost CostOn(const Frame& /*frame*/) const { return {}; }

  std::string name;            // name of the operator in the program: "blocks.0.attention.qkv"
  std::vector<Operand> reads;  // copied from the PlanStep
  Operand writes;              // buffer -1 if the step writes no operand
};

// A step with the settings of its PlanStep.
template <class Settings>
class StepOf : public Step {
 public:
  explicit StepOf(const Settings& step) : step_(step) {}

 protected:
  const Settings step_;
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_STEP_H_
