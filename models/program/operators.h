// SPDX-License-Identifier: Apache-2.0
// Parts of a program: values, weights, operators. docs/concepts/architecture.md has a table of the operators.
#ifndef VITRINE_MODELS_PROGRAM_OPERATORS_H_
#define VITRINE_MODELS_PROGRAM_OPERATORS_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "models/grid_interpolation.h"
#include "models/token_layout.h"

namespace vitrine::program {

// Kind of a value that operators exchange. A kind states no sizes, because input sizes are not known when a program is
// built.
enum class ValueKind {
  kMap,     // [images, height, width, columns], channels last; includes the input images
  kCells,   // [cells of all images, columns]: tokens without prefix tokens, image by image, row by row
  kTokens,  // like kCells, with the program's prefix tokens before the cells of each image
  kRows,    // [images, columns]: class tokens, logits
};

// Kind of a token that precedes the cells of every image. Program::prefix lists the kinds in the order of the tokens.
enum class PrefixToken {
  kClass,     // the first class token is row 0
  kDistill,   // DeiT: a second class token with a head of its own
  kRegister,  // DINOv2: used in attention; no head reads it
};

// Identifies a value within its program.
struct Value {
  int id = -1;
  friend bool operator==(Value, Value) = default;
};

// Initial distribution of a weight. Values are drawn in fp32, in the order of Program::drawing_order.
struct Initial {
  enum class Kind {
    kConstant,         // every value is `scale`; no random number is drawn
    kNormal,           // standard deviation `scale`
    kTruncatedNormal,  // kNormal, cut at -2 and 2 like in timm's trunc_normal_
    kUniform,          // uniform in [-scale, scale)
  };
  Kind kind = Kind::kConstant;
  double scale = 0;
};

// A tensor of a checkpoint.
struct Weight {
  std::string name;  // "blocks.0.attention.qkv.weight"
  std::vector<int64_t> shape;
  Initial initial;
  bool trained = true;  // false for stored values, such as BatchNorm's running statistics
  bool decays = true;   // subject to weight decay

  int64_t elements() const;
};

// --- kinds of operator; each comment lists the `weights` in order, with optional weights in brackets

// Dense kernel x kernel convolution of a map, with zero padding. Unless `pool` is 0, a max pool of pool x pool without
// overlap follows. If `cut` is above 1, images are first cropped to whole cells of `cut` pixels. Otherwise the
// convolution reads all pixels, and the pool drops rows and columns that do not fill a window. Weights: weight
// [outputs, inputs, k, k], or [outputs, k, k, inputs] with channels_last; [bias].
struct Convolve {
  int kernel = 3;
  int stride = 1;
  int padding = 1;
  int pool = 0;
  int cut = 1;
  bool channels_last = false;
};

// Converts the pixels of a map to cells.
struct ToTokens {};

// Image patches of patch x patch pixels; each becomes one row, ordered by pixel row, pixel column, channel. Pixels that
// do not fill a patch are unused.
struct Patchify {
  int patch = 1;
};

// x plus a learned table. If the image has another grid than the table, the table is interpolated with the method
// `resize`. Weights: table [prefix + cells, columns]. The first `prefix` prefix tokens have a row each; later prefix
// tokens have no position.
struct TablePosition {
  Grid grid;
  int prefix = 0;
  GridResize resize = GridResize::kAntialiased;
};

// Number of sines and cosines for a cell's position.
inline constexpr int kFourierFeatures = 64;
// x plus a linear map of the Fourier features (XCiT). Weights: weight, bias.
struct FourierPosition {};

// A learned row, the same for every image: row number `row` of the weight. Weights: rows [n, columns].
struct ClassToken {
  int64_t row = 0;
};
// Puts the prefix tokens of each image before its cells. Each prefix token is an input of kind kRows, and the cells are
// the last input. The result is of kind kTokens.
struct JoinClass {};
// Returns prefix token `token` of each image.
struct TakeClass {
  int token = 0;
};
struct TakeCells {};
// Mean over the cells of each image; the result is rows.
struct MeanTokens {};

// LayerNorm. Weights: weight, bias.
struct LayerNorm {
  double epsilon = 1e-6;
};
// BatchNorm. In training, uses statistics over all rows of the batch. Weights: weight, bias, running_mean, running_var.
struct BatchNorm {
  double epsilon = 1e-5;
  double momentum = 0.1;
};
// x * weight + bias. Weights: weight, bias.
struct Affine {};
inline constexpr float kUnitLengthEpsilon = 1e-12F;  // added to the length before the division
// Each row divided by its Euclidean length; a row of zeros stays zero.
struct UnitLength {};

// y = [x1, x2, ...] W^T + b. Weights: weight [outputs, inputs], [bias], [codes].
struct Linear {
  int64_t inputs = 0;
  int64_t outputs = 0;
  int64_t first_row = 0;  // first row of the weight that is used, if the weight has more rows than `outputs`
  bool bias = true;
  // Row of the weight `codes` that is appended to the inputs of every token (F-SNE); -1 if nothing is appended.
  int code = -1;
  // Number of layers that the paper's code computes as one product. The first of these layers holds this number, and
  // the other layers hold 0. A layer that the paper's code computes alone holds 1.
  int together = 1;
};

struct Activate {
  enum class Function {
    kGelu,       // by erf
    kQuickGelu,  // x / (1 + exp(-1.702 x))
    kRelu,
  };
  Function function = Function::kGelu;
};

// x + scale * branch. Unless `path` is -1, training skips the branch for randomly chosen images (stochastic depth).
// Weights: [scale].
struct Residual {
  int path = -1;
};

// Attention: softmax(scale * q k^T) v per image and head. Inputs: one value with q, k and v side by side (k and v only,
// if k is also q), or three values. Weights: [map weight, map bias], the position map of the KV transformer's variant
// KV+Pos. With this map, the logits are multiplied by the sum of the map's weights, and each key adds an offset
// (map_position.h).
struct Attend {
  int heads = 1;
  double scale = 1;
  bool class_query = false;  // only class tokens are queries; the result is rows
  bool shared_key = false;   // true: k is also q
  bool offers_scores = false;
  int layer = 0;  // index among the layers with the same AttentionSource
  int site = 0;   // dropout site of the attention weights
};

// XCiT's cross-covariance attention: v softmax(t * q^^T k^)^T per image and head, with temperature t. Every channel of
// q^ and k^ has unit length over the tokens of an image. Inputs as for Attend. Weights: temperature [heads, 1, 1].
struct AttendChannels {
  int heads = 1;
  int layer = 0;
  int site = 0;
};

// X-ViT's attention: XN(q) XN(k^T v) per image and head, where XN scales vectors to a learned length. Input: q, k, v
// side by side. With class_query, two inputs: q, then k and v side by side. Weights: query_scale, context_scale
// [heads].
struct AttendLinearly {
  enum class Norm {
    kKeys,    // XN normalises k^T v over the features of k
    kValues,  // XN normalises k^T v over the features of v
    kNone,    // XN multiplies by its scale only
  };
  int heads = 1;
  Norm norm = Norm::kKeys;
  bool class_query = false;
  int layer = 0;
  int site = 0;
};

// 3x3 convolution over each image's grid with zero padding; class tokens pass through. Weights: weight [channels, 1, 3,
// 3] and bias if depthwise, otherwise weight [channels, 3, 3, channels].
struct ConvolveGrid {
  bool depthwise = false;
};

struct Columns {
  int64_t first = 0;
  int64_t count = 0;
};
struct Concatenate {};
// (x + y) * scale.
struct Add {
  double scale = 1;
};

// Dropout, in training only.
struct Drop {
  enum class Place { kPositions, kProjection, kMlp };
  Place place = Place::kPositions;
  int site = 0;  // dropout site; unique within the model
};

// One row of zeros per image.
struct Constant {};

// An operation on cells that no other operator expresses. The source file of a model family implements it as plain
// loops over one image. The loops have no state, call no library and learn no weights.
struct Custom {
  // x, y and their gradients are [grid.cells(), columns] fp32, contiguous, and do not overlap.
  using Forward = void (*)(Grid grid, int64_t columns, const float* x, float* y);
  // Computes dx, the gradient of a loss with respect to x, from dy, the gradient with respect to y.
  using Gradient = void (*)(Grid grid, int64_t columns, const float* x, const float* dy, float* dx);

  std::string function;  // display name: "average pool 3x3"
  Forward forward = nullptr;
  Gradient gradient = nullptr;
};

using Settings = std::variant<Convolve, ToTokens, Patchify, TablePosition, FourierPosition, ClassToken, JoinClass,
                              TakeClass, TakeCells, LayerNorm, BatchNorm, Affine, Linear, Activate, Residual, Attend,
                              AttendChannels, AttendLinearly, ConvolveGrid, Columns, Concatenate, Add, Drop, Constant,
                              MeanTokens, UnitLength, Custom>;

// Section of the model that an operator belongs to.
enum class Part { kInput, kBlock, kHead };

struct Operator {
  std::string name;  // "blocks.0.attention.qkv"
  Settings settings;
  std::vector<Value> inputs;
  Value output;
  std::vector<int> weights;  // indices in Program::weights()
  Part part = Part::kInput;

  // Returns null if the operator is of another kind.
  template <class Kind>
  const Kind* As() const {
    return std::get_if<Kind>(&settings);
  }
};

// Returns "Linear", "AttendChannels", ...
const char* KindName(const Operator& op);

}  // namespace vitrine::program

#endif  // VITRINE_MODELS_PROGRAM_OPERATORS_H_
