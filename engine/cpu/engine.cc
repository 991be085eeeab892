// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/engine.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/simd/float_mode.h"
#include "base/status_macros.h"
#include "engine/cpu/group.h"

namespace vitrine::engine {

absl::StatusOr<Engine> Engine::Make(const program::Program& program, std::span<const float* const> weights,
                                    cpu::CpuPath path) {
  WeightsInMemory source(weights);
  return Make(program, source, path);
}

absl::StatusOr<Engine> Engine::Make(const program::Program& program, WeightSource& weights, cpu::CpuPath path) {
  const Kernels* kernels = FindKernels(path);
  if (kernels == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("this CPU cannot run the kernels of ", cpu::Name(path)));
  }
  const cpu::FloatMode mode;  // folding is arithmetic too
  SharedMatrices matrices(program, weights);
  ASSIGN_OR_RETURN(Plan logits, Compile(program, weights, *kernels, /*tokens=*/false, matrices));
  ASSIGN_OR_RETURN(Plan tokens, Compile(program, weights, *kernels, /*tokens=*/true, matrices));
  return Engine(std::move(logits), std::move(tokens), *kernels);
}

void Engine::Run(std::span<const Picture> pictures, Workspace& workspace, float* logits, AttentionTap* attention,
                 TokenTap* tokens) const {
  const cpu::FloatMode mode;
  const Plan& plan = tokens == nullptr ? logits_ : tokens_;
  std::map<int, Frame::HandedOut> handed_out;
  if (tokens != nullptr) {
    for (const int stage : tokens->wanted()) handed_out[stage];
  }
  std::vector<Grid> grids;
  for (size_t first = 0; first < pictures.size();) {
    const std::span<const Picture> group = FirstGroup(pictures.subspan(first), plan.cell);
    Frame& frame = workspace.Prepare(plan, *kernels_, group, static_cast<int>(first));
    frame.attention = attention;
    frame.tokens = handed_out.empty() ? nullptr : &handed_out;
    for (const auto& step : plan.steps) step->Run(frame);
    const View<float> rows = frame.At(plan.logits);
    for (int64_t i = 0; i < rows.rows; ++i) {
      std::copy_n(rows.Row(i), rows.columns, logits + (static_cast<int64_t>(first) + i) * plan.classes);
    }
    if (frame.tokens != nullptr) {
      for (int i = 0; i < frame.images(); ++i) grids.push_back(frame.grid(i));
    }
    first += group.size();
  }
  for (auto& [stage, tokens_of] : handed_out) {
    if (tokens_of.rows.empty()) continue;  // the model has no such stage
    tokens->Put(stage, {std::move(tokens_of.rows), TokenLayout::Make(grids, tokens_of.class_token ? 1 : 0)});
  }
}

}  // namespace vitrine::engine
