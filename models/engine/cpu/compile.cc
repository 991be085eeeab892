// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cpu/compile.h"

#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "models/engine/cpu/steps/steps.h"
#include "models/engine/plan/plan.h"

namespace vitrine::engine {
namespace {

// A step that Compute (steps.h) runs.
template <class Settings>
class ComputedStep : public StepOf<Settings> {
 public:
  using StepOf<Settings>::StepOf;
  void Run(const Frame& frame) const override { Compute(this->step_, frame); }
};

// Turns the steps of a lowered plan into steps for this CPU: packs matrices and chooses kernels.
class StepMaker {
 public:
  StepMaker(const Instructions& instructions, SharedMatrices& matrices)
      : instructions_(instructions), matrices_(matrices) {}

  template <class Settings>
  StepPtr operator()(const Settings& step) const {
    return std::make_unique<ComputedStep<Settings>>(step);
  }
  StepPtr operator()(LinearStep& step) const { return MakeLinear(step, Pack(std::move(step.matrix))); }
  StepPtr operator()(PerceptronStep& step) const {
    // packed before second.matrix, so that weights are released in program order
    MatrixPtr first = Pack(std::move(step.first.matrix));
    return MakePerceptron(step, std::move(first), Pack(std::move(step.second.matrix)));
  }
  StepPtr operator()(const CustomStep& step) const { return MakeCustom(step); }
  StepPtr operator()(const PatchifyStep& step) const { return MakePatchify(step); }
  StepPtr operator()(StemStep& step) const {
    std::vector<MatrixPtr> matrices;
    for (StemConvolution& layer : step.layers) matrices.push_back(Pack(std::move(layer.matrix)));
    return MakeStem(step, std::move(matrices));
  }
  StepPtr operator()(const AddPositionsStep& step) const { return MakeAddPositions(step); }
  StepPtr operator()(const AttendStep& step) const { return MakeAttend(step, Narrow(step.precision)); }
  StepPtr operator()(const AttendChannelsStep& step) const { return MakeAttendChannels(step, Narrow(step.precision)); }
  StepPtr operator()(const AttendLinearlyStep& step) const { return MakeAttendLinearly(step); }
  StepPtr operator()(const DepthwiseStep& step) const { return MakeDepthwise(step, Narrow(step.precision)); }
  StepPtr operator()(DenseConvolutionStep& step) const {
    return MakeDenseConvolution(step, Pack(std::move(step.matrix)));
  }

 private:
  // Returns the kernels for `precision`; null for fp32.
  const NarrowKernels* Narrow(Precision precision) const {
    if (precision == Precision::kFp32) return nullptr;
    return precision == Precision::kInt8 ? instructions_.int8 : instructions_.bf16;
  }

  // Returns the packed weights of `folded`. Empties `folded`, so that the step, which copies its settings, does not
  // copy the function that makes the weights.
  MatrixPtr Pack(FoldedMatrix&& folded) const {
    const FoldedMatrix matrix = std::exchange(folded, {});
    MatrixPtr packed = matrices_.Find(*matrix.op);
    if (packed != nullptr) return packed;
    const LinearWeights weights = matrix.weights();
    const NarrowKernels* const narrow = Narrow(matrix.precision);
    packed = std::make_shared<const LinearMatrix>(
        narrow == nullptr ? LinearMatrix(PackedMatrix(weights.matrix(), weights.bias.data(), *instructions_.fp32))
                          : LinearMatrix(NarrowMatrix(weights.matrix(), weights.bias.data(), *narrow, matrix.parts)));
    matrices_.Put(*matrix.op, packed);
    return packed;
  }

  const Instructions& instructions_;
  SharedMatrices& matrices_;
};

}  // namespace

absl::StatusOr<Plan> Compile(const program::Program& program, WeightSource& weights, const Instructions& instructions,
                             const PrecisionChoice& choice, bool tokens, SharedMatrices& matrices) {
  ASSIGN_OR_RETURN(LoweredPlan lowered, Lower(program, weights, choice, /*has_bf16=*/instructions.bf16 != nullptr,
                                              tokens, /*head_rows=*/true));
  Plan plan;
  for (PlanStep& step : lowered.steps) {
    StepPtr made = std::visit(StepMaker(instructions, matrices), step.settings);
    made->name = std::move(step.name);
    made->reads = std::move(step.reads);
    made->writes = step.writes;
    plan.steps.push_back(std::move(made));
  }
  static_cast<Layout&>(plan) = std::move(lowered);
  return plan;
}

}  // namespace vitrine::engine
