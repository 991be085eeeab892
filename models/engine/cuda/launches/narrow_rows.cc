// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

#include "models/engine/cuda/launches/fast_kernels.h"

namespace vitrine::cuda {
namespace {

using engine::LoweredPlan;
using engine::Operand;

// Finds the buffers that all steps can read and write as bf16.
class NarrowSearch {
 public:
  explicit NarrowSearch(const LoweredPlan& plan) : plan_(plan), narrow_(plan.buffers.size(), true) {}

  std::vector<bool> Run() {
    Forbid(plan_.logits);
    while (changed_) {  // repeats, because q, k and v of an attention must have the same type
      changed_ = false;
      for (const engine::PlanStep& step : plan_.steps) {
        step_ = &step;
        std::visit([this](const auto& settings) { Do(settings); }, step.settings);
      }
    }
    return std::move(narrow_);
  }

 private:
  void Forbid(const Operand& operand) {
    if (operand.buffer < 0 || !narrow_[static_cast<size_t>(operand.buffer)]) return;
    narrow_[static_cast<size_t>(operand.buffer)] = false;
    changed_ = true;
  }
  void ForbidAll() {
    for (const Operand& read : step_->reads) Forbid(read);
    Forbid(step_->writes);
  }
  // Returns true if each row of all operands begins at a multiple of 16 bytes, also when the rows are stored as bf16.
  bool AreAligned() const {
    const auto aligned = [&](const Operand& operand) {
      return operand.first % kWideBf16 == 0 &&
             plan_.buffers[static_cast<size_t>(operand.buffer)].width % kWideBf16 == 0;
    };
    return aligned(step_->writes) && std::all_of(step_->reads.begin(), step_->reads.end(), aligned);
  }

  template <class Settings>
  void Do(const Settings& /*settings*/) {
    ForbidAll();
  }
  void Do(const engine::LinearStep& step) {
    if (!AreAligned() || !HasFastLinear(step)) {
      ForbidAll();
      return;
    }
    if (step.norm_epsilon || step.matrix.precision != Precision::kBf16) Forbid(step.x);
    if (step.residual) {
      Forbid(*step.residual);
      Forbid(step.y);
    }
  }
  void Do(const engine::PatchifyStep& /*step*/) {
    if (!AreAligned()) ForbidAll();
  }
  void Do(const engine::AttendStep& step) {
    DoAttention(step, step.precision != Precision::kFp32 && HasFastTokens(step));
  }
  void Do(const engine::AttendChannelsStep& step) { DoAttention(step, HasFastChannels(step)); }
  template <class Step>
  void DoAttention(const Step& step, bool has_kernel) {
    if (!AreAligned() || !has_kernel) {
      ForbidAll();
      return;
    }
    const auto is_narrow = [&](const Operand& x) { return narrow_[static_cast<size_t>(x.buffer)]; };
    if (is_narrow(step.q) && is_narrow(step.k) && is_narrow(step.v)) return;
    for (const Operand& x : {step.q, step.k, step.v}) Forbid(x);
  }

  static constexpr int64_t kWideBf16 = 8;  // numbers per access of 16 bytes

  const LoweredPlan& plan_;
  std::vector<bool> narrow_;
  bool changed_ = true;
  const engine::PlanStep* step_ = nullptr;
};

}  // namespace

std::vector<bool> NarrowBuffers(const LoweredPlan& plan) {
  return NarrowSearch(plan).Run();
}

}  // namespace vitrine::cuda
