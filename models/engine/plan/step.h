// SPDX-License-Identifier: Apache-2.0
// The steps of a lowered program as plain structs, the same for every device. `y` is the matrix that a step writes.
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

// Weights and bias of a product, with the operators that are folded into them.
struct FoldedMatrix {
  // The operator that the weights belong to: plans of one program have equal matrices for it.
  const program::Operator* op = nullptr;
  int64_t inputs = 0;
  int64_t outputs = 0;
  Precision precision = Precision::kFp32;
  int64_t parts = 1;  // pieces of a row of inputs that lie apart: the rows of a convolution's kernel
  // Operators whose precision this one decides; `op` first.
  std::vector<std::string> names;
  // Reads the weights and folds the neighbours into them. Valid as long as the WeightSource of Lower, and until its
  // LetGo of them.
  std::function<LinearWeights()> weights;
};

// --- each row by itself

// y = residual + activation(n(x) W^T + b). With an epsilon, n normalizes rows to mean 0 and variance 1.
struct LinearStep {
  Operand x, y;
  std::optional<float> norm_epsilon = std::nullopt;
  Activation activation = Activation::kNone;
  std::optional<Operand> residual = std::nullopt;
  FoldedMatrix matrix;
};
// Two linear layers; only the second reads the first. `first` gives x and the norm, and has neither residual nor y;
// `second` has no x. A back end may keep the hidden values in its caches or registers.
struct PerceptronStep {
  LinearStep first, second;
};
// y = weight n(x) + bias, with n as above.
struct LayerNormStep {
  Operand x, y;
  double epsilon;
  std::vector<float> weight, bias;
};
// y = activation(x scale + shift).
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
// y = [x1, x2, ...], column after column.
struct ConcatenateStep {
  std::vector<Operand> x;
  Operand y;
};

// --- rows of tokens, cells and images

// Writes the same row to every row of y.
struct FillStep {
  std::vector<float> row;
  Operand y;
};
// y: for each image a row of `rows`, then its `cells`.
struct JoinClassStep {
  Operand rows, cells, y;
};
// y: the class token of each image.
struct TakeClassStep {
  Operand x, y;
};
// y: the tokens of x without the class tokens.
struct TakeCellsStep {
  Operand x, y;
};
// y: the mean of each image's cells; x may be tokens.
struct MeanOfCellsStep {
  Operand x, y;
};
// Hands the rows of x to the token tap of a stage.
struct HandOutStep {
  Operand x;
  int stage;
};
// The loops of a family that is not built from the other steps.
struct CustomStep {
  program::Custom custom;
  Operand x, y;
};

// --- from images

// y: the pixels of each patch, channels last.
struct PatchifyStep {
  int patch;
  Operand y;
};
// A convolution of maps in the order of a stem: weights [outputs, kernel, kernel, inputs] with folded operators.
struct StemConvolution {
  program::Convolve convolve;
  FoldedMatrix matrix;
  Activation activation = Activation::kNone;
};
inline constexpr size_t kMostStemLayers = 8;
// One to kMostStemLayers convolutions from images to cells, all fp32 or all bf16; bf16 ones do not pool.
struct StemStep {
  std::vector<StemConvolution> layers;
  Operand y;
};

// --- positions

// y = x + the rows that `rows` returns for the grid of each image.
struct AddPositionsStep {
  Operand x, y;
  std::function<std::vector<float>(Grid grid)> rows;
};

// --- attention; columns are heads side by side

// Softmax attention among tokens; `precision`, fp32 or bf16, is that of both products.
struct AttendStep {
  program::Attend attend;
  Operand q, k, v, y;
  std::vector<float> key_offsets;  // added to the scores, one per key that the model can have; or empty
  Precision precision;
  std::string op;
};
// Softmax attention among channels (XCiT); `precision` as above.
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

// With `scale` and `shift`, y = scale GELU(convolution) + shift. A residual, of cells alone, is added to that.
struct DepthwiseStep {
  Operand x = {};
  Operand y = {};
  std::vector<float> weights = {};  // [9, channels]
  std::vector<float> bias = {};
  std::vector<float> scale = {};
  std::vector<float> shift = {};
  std::optional<Operand> residual = std::nullopt;
  Precision precision;  // fp32 computes the exact GELU, others a cheaper one
  std::string op;
};
// y = activation(convolution), the weights as [outputs, 9 inputs].
struct DenseConvolutionStep {
  Operand x, y;
  FoldedMatrix matrix;
  Activation activation;
};

struct PlanStep {
  std::string name;  // of the operator in the program: "blocks.0.attention.qkv"
  std::variant<LinearStep, PerceptronStep, LayerNormStep, AffineStep, ActivateStep, AddStep, ConcatenateStep, FillStep,
               JoinClassStep, TakeClassStep, TakeCellsStep, MeanOfCellsStep, HandOutStep, CustomStep, PatchifyStep,
               StemStep, AddPositionsStep, AttendStep, AttendChannelsStep, AttendLinearlyStep, DepthwiseStep,
               DenseConvolutionStep>
      settings;
  std::vector<Operand> reads;
  Operand writes;  // buffer is -1 if the step writes none
};

// Makes a step; sets what it reads and writes by its settings.
PlanStep MakePlanStep(std::string name, decltype(PlanStep::settings) settings);

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_PLAN_STEP_H_
