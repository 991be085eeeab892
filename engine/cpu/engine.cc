// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/engine.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace vitrine::engine {
namespace {

// Cells that pass through the steps together. More would not stay in the second cache, fewer read the weights too
// often.
constexpr int64_t kGroupCells = 256;

// How many of the pictures make a group: as many as fit, at least one.
size_t GroupOf(std::span<const Picture> pictures, int cell) {
  int64_t cells = 0;
  for (size_t i = 0; i < pictures.size(); ++i) {
    if (cell > 0) cells += int64_t{pictures[i].height / cell} * (pictures[i].width / cell);
    if (i > 0 && cells > kGroupCells) return i;
  }
  return pictures.size();
}

}  // namespace

absl::StatusOr<Engine> Engine::Make(const program::Program& program, std::span<const float* const> weights,
                                    cpu::CpuPath path) {
  const Kernels* kernels = FindKernels(path);
  if (kernels == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("this CPU cannot run the kernels of ", cpu::Name(path)));
  }
  ASSIGN_OR_RETURN(Plan plan, Compile(program, weights, *kernels));
  return Engine(std::move(plan), *kernels);
}

void Engine::Run(std::span<const Picture> pictures, Workspace& workspace, float* logits) const {
  for (size_t first = 0; first < pictures.size();) {
    const std::span<const Picture> group = pictures.subspan(first, GroupOf(pictures.subspan(first), plan_.cell));
    const Frame& frame = workspace.Prepare(plan_, group, static_cast<int>(first));
    for (const auto& step : plan_.steps) step->Run(frame);
    const View<float> rows = frame.At(plan_.logits);
    for (int64_t i = 0; i < rows.rows; ++i) {
      std::copy_n(rows.Row(i), rows.columns, logits + (static_cast<int64_t>(first) + i) * plan_.classes);
    }
    first += group.size();
  }
}

}  // namespace vitrine::engine
