// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cpu/compile.h"

#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "models/engine/cpu/steps/steps.h"
#include "models/engine/plan/lower.h"

namespace vitrine::engine {
namespace {

// Turns the steps of a lowered plan into steps for this CPU: packs matrices and chooses kernels.
class StepMaker {
 public:
  StepMaker(const Instructions& instructions, SharedMatrices& matrices)
      : instructions_(instructions), matrices_(matrices) {}

  StepPtr operator()(const LinearStep& step) const { return MakeLinear(SettingsOf(step), Pack(step.matrix)); }
  StepPtr operator()(const PerceptronStep& step) const {
    auto first = Pack(step.first.matrix);  // packed before second.matrix, so that weights are released in program order
    return MakePerceptron(SettingsOf(step.first), std::move(first), SettingsOf(step.second), Pack(step.second.matrix));
  }
  StepPtr operator()(const LayerNormStep& step) const {
    return MakeLayerNorm(step.x, step.y, step.epsilon, step.weight, step.bias);
  }
  StepPtr operator()(const AffineStep& step) const {
    return MakeAffine(step.x, step.y, step.scale, step.shift, step.activation);
  }
  StepPtr operator()(const ActivateStep& step) const { return MakeActivate(step.x, step.y, step.activation); }
  StepPtr operator()(const AddStep& step) const { return MakeAdd(step.x, step.z, step.y); }
  StepPtr operator()(const ConcatenateStep& step) const { return MakeConcatenate(step.x, step.y); }
  StepPtr operator()(const FillStep& step) const { return MakeFill(step.row, step.y); }
  StepPtr operator()(const JoinClassStep& step) const { return MakeJoinClass(step.rows, step.cells, step.y); }
  StepPtr operator()(const TakeClassStep& step) const { return MakeTakeClass(step.x, step.y, step.token); }
  StepPtr operator()(const TakeCellsStep& step) const { return MakeTakeCells(step.x, step.y); }
  StepPtr operator()(const MeanOfCellsStep& step) const { return MakeMeanOfCells(step.x, step.y); }
  StepPtr operator()(const UnitLengthStep& step) const { return MakeUnitLength(step.x, step.y); }
  StepPtr operator()(const HandOutStep& step) const { return MakeHandOut(step.x, step.stage); }
  StepPtr operator()(const CustomStep& step) const { return MakeCustom(step.custom, step.x, step.y); }
  StepPtr operator()(const PatchifyStep& step) const { return MakePatchify(step.patch, step.y); }
  StepPtr operator()(const StemStep& step) const {
    std::vector<StemLayer> layers;
    for (const StemConvolution& layer : step.layers) {
      layers.push_back({layer.convolve, Pack(layer.matrix), layer.activation});
    }
    return MakeStem(std::move(layers), step.y);
  }
  StepPtr operator()(const AddPositionsStep& step) const { return MakeAddPositions(step.x, step.y, step.rows); }
  StepPtr operator()(const AttendStep& step) const {
    return MakeAttend(step.attend, step.q, step.k, step.v, step.key_offsets, step.y, Narrow(step.precision));
  }
  StepPtr operator()(const AttendChannelsStep& step) const {
    return MakeAttendChannels(step.attend, step.q, step.k, step.v, step.temperature, step.y, Narrow(step.precision));
  }
  StepPtr operator()(const AttendLinearlyStep& step) const {
    return MakeAttendLinearly(step.attend, step.q, step.k, step.v, step.query_scale, step.context_scale, step.y);
  }
  StepPtr operator()(const DepthwiseStep& step) const {
    return MakeDepthwise(step.x, step.y, {step.weights, step.bias, step.scale, step.shift}, step.residual,
                         Narrow(step.precision));
  }
  StepPtr operator()(const DenseConvolutionStep& step) const {
    return MakeDenseConvolution(step.x, step.y, Pack(step.matrix), step.activation);
  }

 private:
  static LinearSettings SettingsOf(const LinearStep& step) {
    return {step.x, step.y, step.norm_epsilon, step.activation, step.residual};
  }

  // Returns the kernels for `precision`; null for fp32.
  const NarrowKernels* Narrow(Precision precision) const {
    if (precision == Precision::kFp32) return nullptr;
    return precision == Precision::kInt8 ? instructions_.int8 : instructions_.bf16;
  }

  std::shared_ptr<const LinearMatrix> Pack(const FoldedMatrix& matrix) const {
    std::shared_ptr<const LinearMatrix> packed = matrices_.Find(*matrix.op);
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
