// SPDX-License-Identifier: Apache-2.0
// The steps of a compiled program. Operands are matrices of the arena; `y` is the matrix that a step writes.
#ifndef VITRINE_MODELS_ENGINE_CPU_STEPS_STEPS_H_
#define VITRINE_MODELS_ENGINE_CPU_STEPS_STEPS_H_

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "models/engine/cpu/matrices/linear_matrix.h"
#include "models/engine/cpu/step.h"
#include "models/engine/plan/step.h"
#include "models/program/operators.h"

namespace vitrine::engine {

using StepPtr = std::unique_ptr<Step>;

// --- operations on single rows

// y = residual + activation(n(x) W^T + b). With an epsilon, n normalizes rows to mean 0 and variance 1.
struct LinearSettings {
  Operand x, y;
  std::optional<float> norm_epsilon = std::nullopt;
  Activation activation = Activation::kNone;
  std::optional<Operand> residual = std::nullopt;
};
StepPtr MakeLinear(const LinearSettings& settings, std::shared_ptr<const LinearMatrix> matrix);

// Makes one step of two linear layers; only `second` reads the result of `first`. `first` has x and the norm, but no
// residual. Both layers run on a few rows at a time, so that the intermediate result stays in the L1 and L2 caches.
StepPtr MakePerceptron(const LinearSettings& first, std::shared_ptr<const LinearMatrix> first_matrix,
                       const LinearSettings& second, std::shared_ptr<const LinearMatrix> second_matrix);

StepPtr MakeLayerNorm(Operand x, Operand y, double epsilon, std::vector<float> weight, std::vector<float> bias);
// Computes y = activation(x * weight + bias).
StepPtr MakeAffine(Operand x, Operand y, std::vector<float> weight, std::vector<float> bias, Activation activation);
StepPtr MakeActivate(Operand x, Operand y, Activation activation);
StepPtr MakeUnitLength(Operand x, Operand y);  // divides each row by its length
StepPtr MakeAdd(Operand x, Operand z, Operand y);
StepPtr MakeConcatenate(std::vector<Operand> x, Operand y);

// --- rows of tokens, cells and images

StepPtr MakeFill(std::vector<float> row, Operand y);  // writes `row` to every row of y
StepPtr MakeJoinClass(std::vector<Operand> rows, Operand cells, Operand y);
StepPtr MakeTakeClass(Operand x, Operand y, int token);
StepPtr MakeTakeCells(Operand x, Operand y);
StepPtr MakeMeanOfCells(Operand x, Operand y);  // x may be tokens; their prefix tokens are left out

// Makes a step that copies the rows of x to the TokenTap as the tokens of `stage`.
StepPtr MakeHandOut(Operand x, int stage);

// --- from images

StepPtr MakePatchify(int patch, Operand y);

// A convolution of a stem, as in StemConvolution. For bf16, the matrix has one part per kernel row.
struct StemLayer {
  program::Convolve convolve;
  std::shared_ptr<const LinearMatrix> matrix;
  Activation activation = Activation::kNone;
};
StepPtr MakeStem(std::vector<StemLayer> layers, Operand y);  // at most kMostStemLayers

// --- positions

// Returns the rows to add to x for an image's grid. The step caches them for recent grids.
using PositionRows = std::function<std::vector<float>(Grid grid)>;
StepPtr MakeAddPositions(Operand x, Operand y, PositionRows rows);

// --- attention; an operand has the columns of all heads, side by side

// MakeAttend and MakeAttendChannels compute both products in bf16 if `bf16` is not null.
StepPtr MakeAttend(const program::Attend& attend, Operand q, Operand k, Operand v, std::vector<float> key_offsets,
                   Operand y, const NarrowKernels* bf16);
StepPtr MakeAttendChannels(const program::AttendChannels& attend, Operand q, Operand k, Operand v,
                           std::vector<float> temperature, Operand y, const NarrowKernels* bf16);
StepPtr MakeAttendLinearly(const program::AttendLinearly& attend, Operand q, Operand k, Operand v,
                           std::vector<float> query_scale, std::vector<float> context_scale, Operand y);

// Weights of a 3x3 convolution over the grid; class tokens are copied. With `scale` and `shift`, y = scale *
// GELU(convolution) + shift; otherwise y = convolution. If there is a residual, it is added last, and x and y must have
// no class tokens. `narrow` selects the kernels and their GELU; null for fp32.
struct DepthwiseWeights {
  std::vector<float> weights;  // [9, channels]
  std::vector<float> bias;
  std::vector<float> scale;
  std::vector<float> shift;
};
StepPtr MakeDepthwise(Operand x, Operand y, DepthwiseWeights weights, std::optional<Operand> residual,
                      const NarrowKernels* narrow);
StepPtr MakeDenseConvolution(Operand x, Operand y, std::shared_ptr<const LinearMatrix> matrix, Activation activation);
StepPtr MakeCustom(const program::Custom& custom, Operand x, Operand y);

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_STEPS_STEPS_H_
