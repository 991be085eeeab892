// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_ENGINE_COMPILED_H_
#define VITRINE_TESTS_ENGINE_COMPILED_H_

#include <memory>
#include <string>
#include <vector>

#include "engine/cpu/engine.h"
#include "reference/model.h"

namespace vitrine::testing {

// The small form of every family, and of those that take pictures of one size.
struct EngineForm {
  std::string name;
  v1::ModelConfig config;
  std::vector<std::pair<int, int>> sizes;  // height and width, the first the model's own
};
std::vector<EngineForm> EngineForms();

// Logits of the pictures, row by row.
std::vector<float> Logits(const engine::Engine& engine, const std::vector<at::Tensor>& pictures,
                          AttentionTap* attention = nullptr, TokenTap* tokens = nullptr);

// The same model as the reference and compiled for one path.
struct Compiled {
  Compiled(const v1::ModelConfig& config, cpu::CpuPath path);

  std::vector<float> ByEngine(const std::vector<at::Tensor>& pictures) const { return Logits(*engine, pictures); }
  std::vector<float> ByReference(const std::vector<at::Tensor>& pictures) const;

  std::unique_ptr<Model> model;
  std::unique_ptr<const program::Program> program;
  std::vector<const float*> weights;  // the model's, in the program's order
  std::unique_ptr<const engine::Engine> engine;
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_ENGINE_COMPILED_H_
