// SPDX-License-Identifier: Apache-2.0
// The steps of a lowered program, as plain structs that all back ends use. `y` is the matrix that a step writes.
#ifndef VITRINE_MODELS_ENGINE_PLAN_STEP_H_
#define VITRINE_MODELS_ENGINE_PLAN_STEP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/engine/activation.h"
#include "models/engine/plan/fold.h"
#include "models/engine/plan/operand.h"
#include "models/engine/precision.h"
#include "models/program/operators.h"
#include "models/program/program.h"
#include "models/token_layout.h"

namespace vitrine::engine {

// Weights and bias of a product, including the operators folded into them.
struct FoldedMatrix {
  // The operator that owns the weights. All plans of one program have the same matrix for this operator.
  const program::Operator* op = nullptr;
  int64_t inputs = 0;
  int64_t outputs = 0;
  Precision precision = Precision::kFp32;
  int64_t parts = 1;  // number of pieces of an input row; for a convolution, the rows of its kernel
  // Names of the operators that use the product with this matrix, starting with the name of `op`. They have the same
  // precision.
  std::vector<std::string> names;
  // Reads the weights and folds the adjacent operators into them. Must not be called after the WeightSource of Lower is
  // destroyed or has released these weights (LetGo).
  std::function<LinearWeights()> weights;
};

// --- operations on single rows

// y = residual + activation(n(x) W^T + b). With an epsilon, n normalizes rows to mean 0 and variance 1.
struct LinearStep {
  Operand x, y;
  std::optional<float> norm_epsilon = std::nullopt;
  Activation activation = Activation::kNone;
  std::optional<Operand> residual = std::nullopt;
  FoldedMatrix matrix;
};
// Two linear layers; only `second` reads the result of `first`. `first` has x and the norm, but no residual and no y;
// `second` has no x. A back end may keep the hidden values in its caches or registers.
struct PerceptronStep {
  LinearStep first, second;
};
// y = weight * n(x) + bias, with n as in LinearStep.
struct LayerNormStep {
  Operand x, y;
  double epsilon;
  std::vector<float> weight, bias;
};
// y = activation(x * scale + shift).
struct AffineStep {
  Operand x = {};
  Operand y = {};
  std::vector<float> scale = {};
  std::vector<float> shift = {};
  Activation activation = Activation::kNone;
};
struct ActivateStep {
  Operand x, y;
  Activation activation;
};
// y = x + z.
struct AddStep {
  Operand x, z, y;
};
// y = [x1, x2, ...], the columns concatenated.
struct ConcatenateStep {
  std::vector<Operand> x;
  Operand y;
};

// --- rows of tokens, cells and images

// Writes `row` to every row of y.
struct FillStep {
  std::vector<float> row;
  Operand y;
};
// Writes the tokens of each image to y: first one row from each operand in `rows`, then the rows of the image's cells
// from `cells`.
struct JoinClassStep {
  std::vector<Operand> rows;
  Operand cells, y;
};
// Writes prefix token `token` of each image to y. If y has RowsOf::kHeads, the token becomes row `token` of the image.
struct TakeClassStep {
  Operand x, y;
  int token = 0;
};
// Writes the tokens of x without the class tokens to y.
struct TakeCellsStep {
  Operand x, y;
};
// Writes the mean of each image's cells to y; x has rows of cells or of tokens.
struct MeanOfCellsStep {
  Operand x, y;
};
// Writes each row of x, divided by its Euclidean length, to y.
struct UnitLengthStep {
  Operand x, y;
};
// Copies the rows of x to the TokenTap, as the tokens of `stage`.
struct HandOutStep {
  Operand x;
  int stage;
};
// An operation that no other step expresses; the model family provides its code.
struct CustomStep {
  program::Custom custom;
  Operand x, y;
};

// --- from images

// Writes the pixels of each patch to y, channels last.
struct PatchifyStep {
  int patch;
  Operand y;
};
// A convolution of a stem: weights [outputs, kernel, kernel, inputs], with the operators folded into them.
struct StemConvolution {
  program::Convolve convolve;
  FoldedMatrix matrix;
  Activation activation = Activation::kNone;
};
inline constexpr size_t kMostStemLayers = 8;
// One to kMostStemLayers convolutions from images to cells, all fp32 or all bf16; bf16 convolutions do not pool.
struct StemStep {
  std::vector<StemConvolution> layers;
  Operand y;
};

// --- positions

// y = x + the rows that `rows` returns for each image's grid.
struct AddPositionsStep {
  Operand x, y;
  std::function<std::vector<float>(Grid grid)> rows;
};

// --- attention; an operand has the columns of all heads, side by side

// Softmax attention among tokens. `precision` (fp32 or bf16) applies to both products.
struct AttendStep {
  program::Attend attend;
  Operand q, k, v, y;
  std::vector<float> key_offsets;  // added to the scores: one per key of the largest grid; may be empty
  Precision precision;
  std::string op;
};
// Softmax attention among channels (XCiT); `precision` as in AttendStep.
struct AttendChannelsStep {
  program::AttendChannels attend;
  Operand q, k, v, y;
  std::vector<float> temperature;  // by head
  Precision precision;
  std::string op;
};
struct AttendLinearlyStep {
  program::AttendLinearly attend;
  Operand q, k, v, y;
  std::vector<float> query_scale, context_scale;  // by head
};

// --- 3x3 convolutions over the grid; class tokens are copied

// With `scale` and `shift`, y = scale * GELU(convolution) + shift; otherwise y = convolution. If there is a residual,
// it is added last, and x and y have no class tokens.
struct DepthwiseStep {
  Operand x = {};
  Operand y = {};
  std::vector<float> weights = {};  // [9, channels]
  std::vector<float> bias = {};
  std::vector<float> scale = {};
  std::vector<float> shift = {};
  std::optional<Operand> residual = std::nullopt;
  Precision precision;  // fp32: the exact GELU; bf16 and int8: a cheaper approximation
  std::string op;
};
// y = activation(convolution), with weights [outputs, 9 inputs].
struct DenseConvolutionStep {
  Operand x, y;
  FoldedMatrix matrix;
  Activation activation;
};

struct PlanStep {
  std::string name;  // name of the operator in the program: "blocks.0.attention.qkv"
  std::variant<LinearStep, PerceptronStep, LayerNormStep, AffineStep, ActivateStep, AddStep, ConcatenateStep, FillStep,
               JoinClassStep, TakeClassStep, TakeCellsStep, MeanOfCellsStep, UnitLengthStep, HandOutStep, CustomStep,
               PatchifyStep, StemStep, AddPositionsStep, AttendStep, AttendChannelsStep, AttendLinearlyStep,
               DepthwiseStep, DenseConvolutionStep>
      settings;
  std::vector<Operand> reads;
  Operand writes;  // buffer -1 if the step writes no operand
};

// Makes a step; `settings` determine what it reads and writes.
PlanStep MakePlanStep(std::string name, decltype(PlanStep::settings) settings);

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_PLAN_STEP_H_
