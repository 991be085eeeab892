// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_ENGINE_ACTIVATED_H_
#define VITRINE_TESTS_MODELS_ENGINE_ACTIVATED_H_

#include <algorithm>
#include <cmath>

#include "models/engine/cpu/kernels/kernels.h"

namespace vitrine::engine {

// Computes the activation by its formula in fp64.
inline double Activated(Activation activation, double x) {
  if (activation == Activation::kGelu) return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
  if (activation == Activation::kQuickGelu) return x / (1 + std::exp(-1.702 * x));
  return activation == Activation::kRelu ? std::max(x, 0.0) : x;
}

}  // namespace vitrine::engine

#endif  // VITRINE_TESTS_MODELS_ENGINE_ACTIVATED_H_
