// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_STEPS_ATTEND_CHANNELS_H_
#define VITRINE_MODELS_ENGINE_CPU_STEPS_ATTEND_CHANNELS_H_

#include <cstdint>
#include <vector>

#include "models/engine/cpu/steps/heads.h"
#include "models/engine/cpu/steps/steps.h"

namespace vitrine::engine {

// Attention among channels in fp32: v * softmax(t * k^T q), with a learned factor t per head. The softmax runs over the
// channels of k. The columns of q and k are first scaled to unit length.
class AttendChannels : public Step {
 public:
  AttendChannels(const program::AttendChannels& attend, Operand q, Operand k, Operand v, std::vector<float> temperature,
                 Operand y);

  int64_t Scratch(const Frame& frame) const override;
  StepCost CostOn(const Frame& frame) const override;
  void Run(const Frame& frame) const override;

 protected:
  // Computes k^T q of one head, [channel of k, channel of q]. `scratch` is the additional scratch memory of a derived
  // class.
  virtual void Correlate(const Frame& frame, View<const float> k, View<const float> q, View<float> weights,
                         float* scratch) const;
  // Computes the product of v and weights.
  virtual void Mix(const Frame& frame, View<const float> v, View<const float> weights, View<float> y,
                   float* scratch) const;

  int64_t head_width() const { return q_.columns / heads_; }

 private:
  void Scale(int64_t head, const float* inverse_q, const float* inverse_k, View<float> weights) const;

  const int heads_;
  const int layer_;
  const Operand q_, k_, v_, y_;
  const std::vector<float> temperature_;
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_STEPS_ATTEND_CHANNELS_H_
