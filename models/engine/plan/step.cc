// SPDX-License-Identifier: Apache-2.0
#include "models/engine/plan/step.h"

#include <utility>

namespace vitrine::engine {
namespace {

std::vector<Operand> With(std::vector<Operand> reads, const std::optional<Operand>& residual) {
  if (residual) reads.push_back(*residual);
  return reads;
}

// Returns the operands that a step reads: q, k and v, or x. Steps with other operands have an overload.
template <class Settings>
std::vector<Operand> ReadsOf(const Settings& step) {
  if constexpr (requires { step.q; }) {
    return {step.q, step.k, step.v};
  } else {
    return {step.x};
  }
}
std::vector<Operand> ReadsOf(const LinearStep& step) {
  return With({step.x}, step.residual);
}
std::vector<Operand> ReadsOf(const PerceptronStep& step) {
  return With({step.first.x}, step.second.residual);
}
std::vector<Operand> ReadsOf(const AddStep& step) {
  return {step.x, step.z};
}
std::vector<Operand> ReadsOf(const ConcatenateStep& step) {
  return step.x;
}
std::vector<Operand> ReadsOf(const FillStep&) {
  return {};
}
std::vector<Operand> ReadsOf(const JoinClassStep& step) {
  std::vector<Operand> reads = step.rows;
  reads.push_back(step.cells);
  return reads;
}
std::vector<Operand> ReadsOf(const PatchifyStep&) {
  return {};
}
std::vector<Operand> ReadsOf(const StemStep&) {
  return {};
}
std::vector<Operand> ReadsOf(const DepthwiseStep& step) {
  return With({step.x}, step.residual);
}

template <class Settings>
Operand WritesOf(const Settings& step) {
  return step.y;
}
Operand WritesOf(const PerceptronStep& step) {
  return step.second.y;
}
Operand WritesOf(const HandOutStep&) {
  return {};
}

}  // namespace

PlanStep MakePlanStep(std::string name, decltype(PlanStep::settings) settings) {
  PlanStep step{.name = std::move(name), .settings = std::move(settings), .reads = {}, .writes = {}};
  std::visit(
      [&](const auto& of_kind) {
        step.reads = ReadsOf(of_kind);
        step.writes = WritesOf(of_kind);
      },
      step.settings);
  return step;
}

}  // namespace vitrine::engine
