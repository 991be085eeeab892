// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_STEPS_ATTEND_CHANNELS_H_
#define VITRINE_MODELS_ENGINE_CPU_STEPS_ATTEND_CHANNELS_H_

#include <cstdint>

#include "models/engine/cpu/steps/heads.h"
#include "models/engine/cpu/steps/steps.h"

namespace vitrine::engine {

// Attention among channels in fp32: v * softmax(t * k^T q), with a learned factor t per head. The softmax runs over the
// channels of k. The columns of q and k are first scaled to unit length.
class AttendChannels : public StepOf<AttendChannelsStep> {
 public:
  using StepOf::StepOf;

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

  int64_t head_width() const { return step_.q.columns / step_.attend.heads; }

 private:
  void Scale(int64_t head, const float* inverse_q, const float* inverse_k, View<float> weights) const;
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_STEPS_ATTEND_CHANNELS_H_
