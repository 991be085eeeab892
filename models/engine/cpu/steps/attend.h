// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_STEPS_ATTEND_H_
#define VITRINE_MODELS_ENGINE_CPU_STEPS_ATTEND_H_

#include <cstdint>

#include "models/engine/cpu/steps/heads.h"
#include "models/engine/cpu/steps/steps.h"

namespace vitrine::engine {

// Attention among tokens in fp32: softmax(scale * q k^T + offsets) v per image and head.
class Attend : public StepOf<AttendStep> {
 public:
  using StepOf::StepOf;

  int64_t Scratch(const Frame& frame) const override;
  StepCost CostOn(const Frame& frame) const override;
  void Run(const Frame& frame) const override;

 protected:
  // Computes one head of one image from all keys, for the queries in q.
  virtual void MixHead(const Frame& frame, View<const float> q, View<const float> k, View<const float> v,
                       View<float> y) const;

  int64_t head_width() const { return step_.q.columns / step_.attend.heads; }
  float scale() const { return static_cast<float>(step_.attend.scale); }

 private:
  void MixOne(const Frame& frame, View<const float> q, View<const float> k, View<const float> v, View<float> y) const;
  float* Scores(const Frame& frame, View<const float> q, View<const float> k) const;
  void AddOffsets(float* scores, int64_t keys, int64_t queries) const;
  void Softmax(const Frame& frame, float* scores, int64_t keys, int64_t queries) const;
  void HandOut(const Frame& frame, int image) const;
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_STEPS_ATTEND_H_
