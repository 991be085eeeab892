// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_ACTIVATION_H_
#define VITRINE_MODELS_ENGINE_ACTIVATION_H_

namespace vitrine::engine {

enum class Activation { kNone, kGelu, kQuickGelu, kRelu };

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_ACTIVATION_H_
