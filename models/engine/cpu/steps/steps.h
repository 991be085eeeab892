// SPDX-License-Identifier: Apache-2.0
// The steps of a compiled program. Each is made from a step of the plan; models/engine/plan/step.h describes what it
// computes.
#ifndef VITRINE_MODELS_ENGINE_CPU_STEPS_STEPS_H_
#define VITRINE_MODELS_ENGINE_CPU_STEPS_STEPS_H_

#include <memory>
#include <vector>

#include "models/engine/cpu/matrices/linear_matrix.h"
#include "models/engine/cpu/step.h"
#include "models/engine/plan/step.h"

namespace vitrine::engine {

using StepPtr = std::unique_ptr<Step>;
using MatrixPtr = std::shared_ptr<const LinearMatrix>;

// --- steps that need no scratch and nothing beyond their settings
// Each call computes the part of the frame's thread. The threads of a batch call these functions concurrently.

void Compute(const LayerNormStep& step, const Frame& frame);
void Compute(const AffineStep& step, const Frame& frame);
void Compute(const ActivateStep& step, const Frame& frame);
void Compute(const UnitLengthStep& step, const Frame& frame);
void Compute(const AddStep& step, const Frame& frame);
void Compute(const ConcatenateStep& step, const Frame& frame);
void Compute(const FillStep& step, const Frame& frame);
void Compute(const JoinClassStep& step, const Frame& frame);
void Compute(const TakeClassStep& step, const Frame& frame);
void Compute(const TakeCellsStep& step, const Frame& frame);
void Compute(const MeanOfCellsStep& step, const Frame& frame);
void Compute(const HandOutStep& step, const Frame& frame);

// --- other steps; a matrix has the weights of the FoldedMatrix of the settings

StepPtr MakeLinear(const LinearStep& step, MatrixPtr matrix);
// Makes a step that runs both layers on a few rows at a time, so that the intermediate result stays in the L1 and L2
// caches.
StepPtr MakePerceptron(const PerceptronStep& step, MatrixPtr first, MatrixPtr second);
StepPtr MakeCustom(const CustomStep& step);
StepPtr MakePatchify(const PatchifyStep& step);
StepPtr MakeStem(const StemStep& step, std::vector<MatrixPtr> matrices);  // one matrix per layer
// Makes a step that caches the rows of recent grids.
StepPtr MakeAddPositions(const AddPositionsStep& step);
StepPtr MakeDenseConvolution(const DenseConvolutionStep& step, MatrixPtr matrix);
StepPtr MakeAttendLinearly(const AttendLinearlyStep& step);

// Makes steps that multiply with `bf16` or `narrow`: the kernels for the precision of the step, or null for fp32.
StepPtr MakeAttend(const AttendStep& step, const NarrowKernels* bf16);
StepPtr MakeAttendChannels(const AttendChannelsStep& step, const NarrowKernels* bf16);
StepPtr MakeDepthwise(const DepthwiseStep& step, const NarrowKernels* narrow);

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_STEPS_STEPS_H_
