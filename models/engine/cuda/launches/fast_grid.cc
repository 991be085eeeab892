// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <variant>

#include "models/engine/cuda/kernels/fast/shapes.h"
#include "models/engine/cuda/launches/fast_kernels.h"

namespace vitrine::cuda {
namespace {

using engine::Operand;

// Returns true if each row consists of groups of four numbers that one access can read.
bool IsOfFours(const Matrix& matrix) {
  return matrix.columns % kWideFloats == 0 && HasWideRows(matrix);
}

// Returns true if vitrine_fast_depthwise supports these matrices.
bool SuitsTiles(const DepthwiseArguments& arguments) {
  return arguments.x.columns % kTileChannels == 0 && IsOfFours(arguments.x) && IsOfFours(arguments.y) &&
         IsOfFours(arguments.residual);
}

bool IsSame(const Operand& a, const Operand& b) {
  return a.buffer == b.buffer && a.first == b.first && a.columns == b.columns;
}

// Returns true if exactly one step reads the buffer.
bool IsReadOnce(const engine::LoweredPlan& plan, const Operand& operand) {
  const auto reads = [&](const engine::PlanStep& step) {
    return std::count_if(step.reads.begin(), step.reads.end(),
                         [&](const Operand& read) { return read.buffer == operand.buffer; });
  };
  int64_t count = plan.logits.buffer == operand.buffer ? 1 : 0;
  for (const engine::PlanStep& step : plan.steps) count += reads(step);
  return count == 1;
}

}  // namespace

KernelChoice Choose(const AffineArguments& arguments) {
  const bool suits = IsOfFours(arguments.x) && IsOfFours(arguments.y);
  return {.kernel = suits ? "vitrine_fast_affine" : "vitrine_affine"};
}

KernelChoice Choose(const AddArguments& arguments) {
  const bool suits = IsOfFours(arguments.x) && IsOfFours(arguments.z) && IsOfFours(arguments.y);
  return {.kernel = suits ? "vitrine_fast_add" : "vitrine_add"};
}

KernelChoice Choose(const CopyArguments& arguments) {
  const bool suits = IsOfFours(arguments.x) && IsOfFours(arguments.y);
  return {.kernel = suits ? "vitrine_fast_copy_rows" : "vitrine_copy_rows"};
}

KernelChoice Choose(const PatchifyArguments& arguments) {
  return {.kernel = IsOfFours(arguments.y) ? "vitrine_fast_patchify" : "vitrine_patchify"};
}

KernelChoice Choose(const GatherArguments& arguments) {
  const bool suits = IsOfFours(arguments.x) && IsOfFours(arguments.y);
  return {.kernel = suits ? "vitrine_fast_gather_neighbours" : "vitrine_gather_neighbours"};
}

KernelChoice Choose(const DepthwiseArguments& arguments) {
  if (!SuitsTiles(arguments)) return {.kernel = "vitrine_depthwise"};
  return {.kernel = "vitrine_fast_depthwise", .threads = kTileThreads, .shared_bytes = kDepthwiseSharedBytes};
}

KernelChoice Choose(const LocalArguments& /*arguments*/) {
  return {.kernel = "vitrine_fast_local", .threads = kTileThreads, .shared_bytes = kLocalSharedBytes};
}

std::optional<LocalSteps> FindLocalSteps(const engine::LoweredPlan& plan, size_t first) {
  if (first + LocalSteps::kCount > plan.steps.size()) return std::nullopt;
  const auto* const norm = std::get_if<engine::LayerNormStep>(&plan.steps[first].settings);
  const auto* const one = std::get_if<engine::DepthwiseStep>(&plan.steps[first + 1].settings);
  const auto* const two = std::get_if<engine::DepthwiseStep>(&plan.steps[first + 2].settings);
  if (norm == nullptr || one == nullptr || two == nullptr) return std::nullopt;
  const bool is_chain =
      IsSame(one->x, norm->y) && IsSame(two->x, one->y) && !one->scale.empty() && !one->residual && two->scale.empty();
  if (!is_chain || !IsReadOnce(plan, norm->y) || !IsReadOnce(plan, one->y)) return std::nullopt;
  const auto buffer = [&](const Operand& operand) { return plan.buffers[static_cast<size_t>(operand.buffer)]; };
  const auto suits = [&](const Operand& operand) {
    return buffer(operand).rows == RowsOf::kCells && operand.columns % kTileChannels == 0 && operand.first % 4 == 0 &&
           buffer(operand).width % 4 == 0;
  };
  // A block may read x after another block has written y, so x and y must not share memory.
  const bool is_in_place = buffer(norm->x).slot == buffer(two->y).slot;
  if (is_in_place || !suits(norm->x) || !suits(two->y) || (two->residual && !suits(*two->residual))) {
    return std::nullopt;
  }
  return LocalSteps{*norm, *one, *two};
}

}  // namespace vitrine::cuda
