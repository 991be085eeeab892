// SPDX-License-Identifier: Apache-2.0
// What a program is made of: values, weights, operators. docs/concepts/architecture.md has the table of operators.
#ifndef VITRINE_MODELS_PROGRAM_OPERATORS_H_
#define VITRINE_MODELS_PROGRAM_OPERATORS_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "models/token_layout.h"

namespace vitrine::program {

// What passes between operators. Sizes of inputs are not known; whatever they are, a value is one of these.
enum class ValueKind {
  kMap,     // [images, height, width, columns], channels last; the pictures are one
  kCells,   // [cells of all images, columns]: tokens of the grids alone, image by image, row by row
  kTokens,  // the same with one class token before the cells of each image
  kRows,    // [images, columns]: class tokens, logits
};

// Names a value of its program.
struct Value {
  int id = -1;
  friend bool operator==(Value, Value) = default;
};

// How a weight starts. Drawn fp32, in the order that Program::drawing_order says.
struct Initial {
  enum class Kind {
    kConstant,         // `scale` everywhere; nothing is drawn
    kNormal,           // deviation `scale`
    kTruncatedNormal,  // the same, cut at 2 units, as timm's trunc_normal_
    kUniform,          // within +- `scale`
  };
  Kind kind = Kind::kConstant;
  double scale = 0;
};

// A tensor of a checkpoint.
struct Weight {
  std::string name;  // "blocks.0.attention.qkv.weight"
  std::vector<int64_t> shape;
  Initial initial;
  bool trained = true;  // false: stored only, as BatchNorm's running statistics
  bool decays = true;   // weight decay pulls it towards zero

  int64_t elements() const;
};

// --- kinds of operator. `weights` of each are named in their order; those in brackets may be missing.

// Of a map: a kernel x kernel convolution of every channel with every other, zeros beyond the border, and a max pool of
// pool x pool without overlap behind it where `pool` is not 0. A picture is cut to whole cells of `cut` pixels first
// where `cut` is above 1; else what is left over is seen by the convolution and left out by the pool.
// Weights: weight [outputs, inputs, k, k], or [outputs, k, k, inputs] with channels_last; [bias].
struct Convolve {
  int kernel = 3;
  int stride = 1;
  int padding = 1;
  int pool = 0;
  int cut = 1;
  bool channels_last = false;
};

// A map's pixels as cells.
struct ToTokens {};

// The pictures cut into patch x patch pixels, each a row in the order row, column, channel. What is left over is
// unused.
struct Patchify {
  int patch = 1;
};

// x plus a learned table, interpolated (bicubic, antialiased) where the grid is not the table's. Weights: table
// [cells, columns] for cells, and [1 + cells, columns] with the class token's first for tokens.
struct TablePosition {
  Grid grid;
};

// Sines and cosines of a cell's place.
inline constexpr int kFourierFeatures = 64;
// x plus a linear map of them (XCiT). Weights: weight, bias.
struct FourierPosition {};

// The same learned row for every image. Weights: row [1, columns].
struct ClassToken {};
// Rows and cells to tokens, and back.
struct JoinClass {};
struct TakeClass {};
struct TakeCells {};
// The mean over the cells of each image, as rows.
struct MeanTokens {};

// Weights: weight, bias.
struct LayerNorm {
  double epsilon = 1e-6;
};
// Statistics over all rows of the batch while training. Weights: weight, bias, running_mean, running_var.
struct BatchNorm {
  double epsilon = 1e-5;
  double momentum = 0.1;
};
// x weight + bias. Weights: weight, bias.
struct Affine {};

// y = [x1, x2, ...] W^T + b. Weights: weight [outputs, inputs], [bias], [codes].
struct Linear {
  int64_t inputs = 0;
  int64_t outputs = 0;
  int64_t first_row = 0;  // of a weight that has more rows than `outputs`
  bool bias = true;
  // The row of `codes` that follows the inputs of every token (F-SNE); -1 without.
  int code = -1;
  // How many operators from this one on the paper's code computes as one product; 0 for those that follow.
  int together = 1;
};

struct Activate {
  enum class Function { kGelu, kRelu };  // GELU by erf
  Function function = Function::kGelu;
};

// x + scale * branch; the branch is left out for whole images while training (stochastic depth) where `path` is not -1.
// Weights: [scale].
struct Residual {
  int path = -1;
};

// softmax(scale q k^T) v per image and head. One input: q, k and v side by side, or k and v where k is q too; else
// three. Weights: [map weight, map bias] of KV+Pos: the logits times the sum of the map's weights, plus an offset for
// each key.
struct Attend {
  int heads = 1;
  double scale = 1;
  bool class_query = false;  // only the class tokens query; the result is rows
  bool shared_key = false;   // q = k
  bool offers_scores = false;
  int layer = 0;  // among those of its kind
  int site = 0;   // where weights are dropped
};

// XCiT's cross-covariance attention: softmax(t k^^T q^) over the channels of a head, q^ and k^ of unit length over the
// tokens of an image. Inputs as Attend. Weights: temperature [heads, 1, 1].
struct AttendChannels {
  int heads = 1;
  int layer = 0;
  int site = 0;
};

// X-ViT's attention: XN(q) XN(k^T v) per image and head. Input: q, k, v side by side; with class_query two, q and then
// k, v side by side. Weights: query_scale, context_scale [heads].
struct AttendLinearly {
  int heads = 1;
  bool over_values = false;  // XN of k^T v goes over the features of v, not those of k
  bool class_query = false;
  int layer = 0;
  int site = 0;
};

// A 3x3 convolution over each image's grid, zeros beyond its border; class tokens pass. Weights: weight
// [channels, 1, 3, 3] and bias where depthwise, else weight [channels, 3, 3, channels].
struct ConvolveGrid {
  bool depthwise = false;
};

struct Columns {
  int64_t first = 0;
  int64_t count = 0;
};
struct Concatenate {};
struct Add {};

// Dropout while training.
struct Drop {
  enum class Place { kPositions, kProjection, kMlp };
  Place place = Place::kPositions;
  int site = 0;  // tells the places of a model apart
};

// Zeros, one row an image.
struct Constant {};

// What one family computes of its cells and no other operator says: plain loops over one image, given by the family's
// own file. They hold no state and call no library; what is learned is said by the operators around it.
struct Custom {
  // x, y and their gradients are [grid.cells(), columns] fp32, contiguous, and do not overlap.
  using Forward = void (*)(Grid grid, int64_t columns, const float* x, float* y);
  // Writes dx, the gradient of a loss by x, from dy, its gradient by y.
  using Gradient = void (*)(Grid grid, int64_t columns, const float* x, const float* dy, float* dx);

  std::string function;  // what people call it: "average pool 3x3"
  Forward forward = nullptr;
  Gradient gradient = nullptr;
};

using Settings =
    std::variant<Convolve, ToTokens, Patchify, TablePosition, FourierPosition, ClassToken, JoinClass, TakeClass,
                 TakeCells, LayerNorm, BatchNorm, Affine, Linear, Activate, Residual, Attend, AttendChannels,
                 AttendLinearly, ConvolveGrid, Columns, Concatenate, Add, Drop, Constant, MeanTokens, Custom>;

// Which third of the model an operator belongs to.
enum class Part { kInput, kBlock, kHead };

struct Operator {
  std::string name;  // "blocks.0.attention.qkv"
  Settings settings;
  std::vector<Value> inputs;
  Value output;
  std::vector<int> weights;  // places in Program::weights()
  Part part = Part::kInput;

  // Null where the operator is of another kind.
  template <class Kind>
  const Kind* As() const {
    return std::get_if<Kind>(&settings);
  }
};

// "Linear", "AttendChannels".
const char* KindName(const Operator& op);

}  // namespace vitrine::program

#endif  // VITRINE_MODELS_PROGRAM_OPERATORS_H_
