// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cpu/engine.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "common/simd/float_mode.h"
#include "common/status_macros.h"
#include "models/engine/cpu/frame_memory.h"
#include "models/engine/cpu/group.h"
#include "models/engine/cpu/instructions.h"
#include "models/engine/cpu/team.h"

namespace vitrine::engine {

absl::StatusOr<Engine> Engine::Make(const program::Program& program, std::span<const float* const> weights,
                                    cpu::CpuPath path, const PrecisionChoice& choice) {
  WeightsInMemory source(weights);
  return Make(program, source, path, choice);
}

absl::StatusOr<Engine> Engine::Make(const program::Program& program, WeightSource& weights, cpu::CpuPath path,
                                    const PrecisionChoice& choice) {
  RETURN_IF_ERROR(CanCompute(choice.precision, path));
  ASSIGN_OR_RETURN(const Instructions instructions, FindInstructions(path));
  const cpu::FloatMode mode;  // folding weights needs the float mode of Run
  SharedMatrices matrices(program, weights);
  ASSIGN_OR_RETURN(Plan logits, Compile(program, weights, instructions, choice, /*tokens=*/false, matrices));
  ASSIGN_OR_RETURN(Plan tokens, Compile(program, weights, instructions, choice, /*tokens=*/true, matrices));
  return Engine(std::move(logits), std::move(tokens), *instructions.fp32, choice.precision, matrices.SavedBytes());
}

void Engine::Run(std::span<const ImagePlanes> images, Workspace& workspace, float* logits, AttentionTap* attention,
                 TokenTap* tokens) const {
  const cpu::FloatMode mode;
  FrameMemory& memory = workspace.Of<FrameMemory>();
  const Plan& plan = tokens == nullptr ? logits_ : tokens_;
  std::map<int, Frame::HandedOut> handed_out;
  if (tokens != nullptr) {
    for (const int stage : tokens->wanted()) handed_out[stage];
  }
  // If an AttentionTap or a TokenTap is set, only this thread computes, because taps are not thread-safe.
  Team* const team = attention == nullptr && tokens == nullptr ? workspace.team : nullptr;
  std::vector<Grid> grids;
  for (size_t first = 0; first < images.size();) {
    const std::span<const ImagePlanes> group = FirstGroup(images.subspan(first), plan.cell);
    const int members = team == nullptr ? 1 : team->members();
    const std::span<Frame> frames = memory.Prepare(plan, *kernels_, group, static_cast<int>(first), members);
    Frame& frame = frames.front();
    frame.attention = attention;
    frame.tokens = handed_out.empty() ? nullptr : &handed_out;
    if (team != nullptr) {
      team->Run(plan, frames);
    } else {
      for (const auto& step : plan.steps) step->Run(frame);
    }
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
    if (tokens_of.rows.empty()) continue;  // the model lacks this stage
    tokens->Put(stage, {std::move(tokens_of.rows), TokenLayout::Make(grids, tokens_of.has_prefix ? plan.prefix : 0)});
  }
}

}  // namespace vitrine::engine
