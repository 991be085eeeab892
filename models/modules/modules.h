// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_MODULES_MODULES_H_
#define VITRINE_MODELS_MODULES_MODULES_H_

#include <memory>
#include <vector>

#include "models/layers/initializer.h"
#include "models/model.h"

namespace vitrine {

// The families as modules with a Forward, which train and serve. Each requires a config of its family that is valid.
std::unique_ptr<Model> MakeVit(const v1::ModelConfig& config, Initializer& initializer);
std::unique_ptr<Model> MakeEit(const v1::ModelConfig& config, Initializer& initializer);
std::unique_ptr<Model> MakeEitBaseline(const v1::ModelConfig& config, Initializer& initializer);
std::unique_ptr<Model> MakeKv(const v1::ModelConfig& config, Initializer& initializer);
std::unique_ptr<Model> MakeXcit(const v1::ModelConfig& config, Initializer& initializer);
std::unique_ptr<Model> MakeXVit(const v1::ModelConfig& config, Initializer& initializer);
std::unique_ptr<Model> MakeNull(const v1::ModelConfig& config, Initializer& initializer);

// What a model offers whose `layers` blocks let tokens attend to tokens, with the class token before the grid.
AttentionAbility TokenAttention(const std::vector<v1::AttentionKind>& kinds, int layers, int heads, const Model& model);

}  // namespace vitrine

#endif  // VITRINE_MODELS_MODULES_MODULES_H_
