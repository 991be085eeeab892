// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_AFFINE_H_
#define VITRINE_MODELS_LAYERS_AFFINE_H_

#include "models/layers/initializer.h"
#include "models/module.h"

namespace vitrine {

// A learned scale and shift of every channel, alpha x + beta (ResMLP), in the place where XCiT has its LayerScale.
class Affine : public Module {
 public:
  // alpha starts at `scale`, beta at 0.
  Affine(int width, double scale, Initializer& initializer);

  // [T, width] -> [T, width].
  at::Tensor Forward(const at::Tensor& x) const;

 private:
  at::Tensor weight_;
  at::Tensor bias_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_AFFINE_H_
