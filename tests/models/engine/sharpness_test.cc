// SPDX-License-Identifier: Apache-2.0
// Tests that the parity test would detect a mistake: an engine with two swapped blocks or a dropped residual is far
// from the reference.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tests/models/engine/compiled.h"
#include "tests/models/reference/images.h"

namespace vitrine::testing {
namespace {

constexpr double kFar = 100 * kParityTolerance;  // minimum difference caused by a mistake

class Sharpness : public ::testing::TestWithParam<EngineForm> {
 protected:
  Sharpness() {
    const auto [height, width] = GetParam().sizes[0];
    images_ = {RandomImage(GetParam().config.preprocessing().channels(), height, width, 1)};
  }

  struct Computed {
    std::vector<float> logits;
    std::vector<float> stages[2];  // tokens after the first two blocks
  };
  Computed ByEngine(const program::Program& program, const std::vector<const float*>& weights) const {
    const absl::StatusOr<engine::Engine> engine = engine::Engine::Make(program, weights, EnginePaths().back());
    EXPECT_TRUE(engine.ok()) << engine.status();
    if (!engine.ok()) return {};
    TokenTap tokens = BothStages();
    return With(tokens, Logits(*engine, images_, nullptr, &tokens));
  }
  Computed ByReference() const {
    TokenTap tokens = BothStages();
    return With(tokens, compiled_.ByReference(images_, nullptr, &tokens));
  }

  const Compiled compiled_{GetParam().config, EnginePaths().back()};
  std::vector<at::Tensor> images_;

 private:
  static TokenTap BothStages() {
    TokenTap tokens;
    tokens.Request(0);
    tokens.Request(1);
    return tokens;
  }
  static Computed With(const TokenTap& tokens, std::vector<float> logits) {
    return {std::move(logits), {tokens.Find(0)->data.values, tokens.Find(1)->data.values}};
  }
};

TEST_P(Sharpness, TwoStagesAreTheReferences) {
  const Computed ours = ByEngine(*compiled_.program, compiled_.weights), theirs = ByReference();
  EXPECT_LE(Apart(ours.stages[0], theirs.stages[0]), kParityTolerance);
  EXPECT_LE(Apart(ours.stages[1], theirs.stages[1]), kParityTolerance);
  EXPECT_LE(Apart(ours.logits, theirs.logits), kParityTolerance);
  EXPECT_GT(Apart(ours.stages[0], theirs.stages[1]), kFar) << "the stages are two";
}

// Swaps the weights of the two blocks that have equal shapes.
TEST_P(Sharpness, TwoBlocksSwappedAreFarFromTheReference) {
  std::vector<const float*> swapped = compiled_.weights;
  const std::vector<program::Weight>& weights = compiled_.program->weights();
  int swaps = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    absl::string_view rest = weights[i].name;
    if (!absl::ConsumePrefix(&rest, "blocks.0.")) continue;
    for (size_t j = 0; j < weights.size(); ++j) {
      if (weights[j].name != absl::StrCat("blocks.1.", rest) || weights[j].shape != weights[i].shape) continue;
      std::swap(swapped[i], swapped[j]);
      ++swaps;
    }
  }
  ASSERT_GT(swaps, 0);
  const Computed ours = ByEngine(*compiled_.program, swapped), theirs = ByReference();
  EXPECT_GT(Apart(ours.stages[0], theirs.stages[0]), kFar);
  EXPECT_GT(Apart(ours.stages[1], theirs.stages[1]), kFar);
  EXPECT_GT(Apart(ours.logits, theirs.logits), kFar);
}

// Returns the program in which the readers of the residual's result read only its branch.
program::Program WithoutResidual(const program::Program& program, const program::Operator& residual) {
  program::Program without = program;
  const program::Value sum = residual.output, branch = residual.inputs[1];
  const auto replace = [&](const program::Value& value) {
    if (value.id == sum.id) const_cast<program::Value&>(value) = branch;  // programs have no interface for changes
  };
  for (const program::Operator& op : without.operators()) {
    for (const program::Value& input : op.inputs) replace(input);
  }
  for (const program::Value& stage : without.stages()) replace(stage);
  return without;
}

TEST_P(Sharpness, EveryResidualDroppedIsFarFromTheReference) {
  const Computed theirs = ByReference();
  int residuals = 0;
  for (const program::Operator& op : compiled_.program->operators()) {
    if (op.As<program::Residual>() == nullptr) continue;
    ++residuals;
    const Computed ours = ByEngine(WithoutResidual(*compiled_.program, op), compiled_.weights);
    EXPECT_GT(Apart(ours.logits, theirs.logits), kFar) << op.name;
  }
  EXPECT_GE(residuals, 4);
}

INSTANTIATE_TEST_SUITE_P(Forms, Sharpness, ::testing::ValuesIn(EngineForms()),
                         [](const auto& info) { return NameOf(info.param, EnginePaths().back()); });

}  // namespace
}  // namespace vitrine::testing
