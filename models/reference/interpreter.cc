// SPDX-License-Identifier: Apache-2.0
#include "models/reference/interpreter.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

#include <memory>
#include <optional>

#include "models/reference/operands.h"
#include "models/reference/operators/attention/map_position.h"
#include "models/reference/operators/position_table.h"
#include "models/reference/pass.h"

namespace vitrine {

using program::Operator;
using program::Value;

Interpreter::Interpreter(const program::Program& program)
    : program_(program),
      operands_(OperandsOf(program)),
      steps_(StepsOf(program)),
      demands_(program::DemandOf(program, program::ResultsOfRun(program))),
      last_read_(LastRead(program, steps_)) {
  for (size_t i = 0; i < program.stages().size(); ++i) stage_of_[program.stages()[i].id] = static_cast<int>(i);
  for (const Operator& op : program.operators()) {
    if (const auto* position = op.As<program::TablePosition>()) {
      interpolations_[&op] = std::make_unique<GridInterpolations>(position->grid, position->resize);
    } else if (op.As<program::Attend>() != nullptr && !op.weights.empty()) {
      const int64_t channels = program.weights()[static_cast<size_t>(op.weights[0])].shape[0];
      key_positions_[&op] = KeyPositions(1 + program.table().cells(), channels);
    }
  }
}

std::vector<program::Demand> Interpreter::DemandFor(const ForwardContext& context) const {
  if (context.tokens == nullptr) return demands_;
  std::vector<Value> results = program::ResultsOfRun(program_);
  for (size_t i = 0; i < program_.stages().size(); ++i) {
    if (context.WantsTokens(static_cast<int>(i))) results.push_back(program_.stages()[i]);
  }
  const Value final_tokens = program_.final_tokens();
  if (final_tokens.id >= 0 && context.WantsTokens(TokenTap::kFinal)) results.push_back(final_tokens);
  const Value projection = program_.projection();
  if (projection.id >= 0 && context.WantsTokens(TokenTap::kProjection)) results.push_back(projection);
  return program::DemandOf(program_, results);
}

at::Tensor Interpreter::Run(const std::vector<at::Tensor>& weights, const ImageBatch& images,
                            const ForwardContext& context) const {
  // Without gradients, bypasses autograd's kernels, which would only pass every call to the next kernel.
  std::optional<at::AutoDispatchBelowADInplaceOrView> past_autograd;
  if (!at::GradMode::is_enabled()) past_autograd.emplace();
  return Pass(*this, weights, images, context).Run();
}

}  // namespace vitrine
