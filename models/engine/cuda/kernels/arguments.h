// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels: the host writes them, the kernels read them. All pointers point to device memory.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_ARGUMENTS_H_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_ARGUMENTS_H_

#include <cstdint>

#include "models/engine/activation.h"
#include "models/engine/plan/operand.h"

namespace vitrine::cuda {

using engine::Activation;
using engine::RowsOf;

// An image of a batch. In matrices with one row per cell, the cells of an image are consecutive, grid row after grid
// row. In matrices with one row per token, Batch::prefix rows precede the cells of each image.
struct ImageRows {
  int64_t first_pixel;  // first value of its planes [channels, height, width]
  int height, width;
  int first_cell;
  int grid_rows, grid_columns;
};

// A part of an image's grid: at most kTileSide x kTileSide cells, starting at (row, column).
struct GridTile {
  int row, column;
  int image, first_cell, rows, columns;  // rows and columns of the whole grid
};

// A batch in device memory, uploaded before the forward pass.
struct Batch {
  const int* counts;  // numbers of images, of cells and of tiles
  // one entry per image, and one last entry, whose first_cell is the number of cells of the batch
  const ImageRows* images;
  const GridTile* tiles = nullptr;  // tiles of all grids
  int prefix = 1;                   // rows of tokens before the cells of each image
};

// Columns of a matrix whose rows belong to a batch. The stride is counted in numbers, not in bytes.
struct Matrix {
  float* data = nullptr;
  int64_t stride = 0;
  int columns = 0;
  RowsOf rows = RowsOf::kTokens;
  // true: `data` holds bf16, which only some fast kernels read and write; see NarrowBuffers (launches/fast_kernels.h)
  bool narrow = false;
};

// --- rows

// Mean and 1 / sqrt(variance + epsilon) of a row.
struct RowStatistics {
  float center, scale;
};

struct StatisticsArguments {
  Batch batch;
  Matrix x;
  float epsilon;
  RowStatistics* statistics;  // by row
};

// y = activation(n(x) * scale + shift). n normalizes with the statistics; without statistics, n(x) is x.
struct AffineArguments {
  Batch batch;
  Matrix x, y;
  const RowStatistics* statistics;  // null: n(x) is x
  const float *scale, *shift;
  Activation activation;
};

// y = n(x) * weight + bias. n normalizes a row to mean 0 and variance 1.
struct LayerNormArguments {
  Batch batch;
  Matrix x, y;
  float epsilon;
  const float *weight, *bias;
};

struct ActivateArguments {
  Batch batch;
  Matrix x, y;
  Activation activation;
};

// y = x + z.
struct AddArguments {
  Batch batch;
  Matrix x, z, y;
};

// Writes the same row to every row of y.
struct FillArguments {
  Batch batch;
  const float* row;
  Matrix y;
};

// Rows of x that are copied to y. A row and its copy belong to the same image.
enum class CopiedRows {
  kAll,    // x and y have the same rows
  kClass,  // a prefix token of each image; rows of x and y are tokens or images
  kCells,
};

struct CopyArguments {
  Batch batch;
  Matrix x, y;
  CopiedRows rows;
  int token = 0;  // for kClass: index of the prefix token
};

// y = x / (|x| + epsilon).
struct UnitLengthArguments {
  Batch batch;
  Matrix x, y;
  float epsilon;
};

// Writes the mean of each image's cells to y.
struct MeanArguments {
  Batch batch;
  Matrix x, y;
};

// --- linear layers

struct LinearArguments {
  Batch batch;
  Matrix x, y;
  Matrix residual;                  // its data is null if there is no residual
  const RowStatistics* statistics;  // null: x is not normalized
  const void* weights;              // [inputs, outputs] of fp32 or bf16
  const float* bias;
  Activation activation;
};

// Range of a row of quantized numbers: a byte b stands for the number least + step * b.
struct ByteRange {
  float step, least;
};

struct QuantizeArguments {
  Batch batch;
  Matrix x;
  const RowStatistics* statistics;  // null: x is not normalized
  uint8_t* bytes;                   // [rows, x.columns]
  ByteRange* ranges;                // by row
};

struct LinearBytesArguments {
  Batch batch;
  const uint8_t* bytes;  // [rows, inputs]
  const ByteRange* ranges;
  int inputs;
  Matrix y, residual;
  const int8_t* weights;      // [inputs, outputs]
  const float *bias, *scale;  // `scale`: quantization step of the weights, by output
  const float* sums;          // sums of weights times `scale`, by output
  Activation activation;
};

// Arguments of the fast kernels of a linear layer. x has a multiple of 16 columns, y a multiple of 4; all rows begin at
// multiples of 16 bytes.
struct FastLinearArguments {
  Batch batch;
  Matrix x, y;
  Matrix residual = {};     // its data is null if there is no residual
  bool normalizes = false;  // true: the kernel computes the statistics, with `epsilon`
  float epsilon = 0;
  const RowStatistics* statistics = nullptr;  // statistics from another kernel
  const void* weights = nullptr;  // [outputs, inputs] of bf16 or int8; outputs and the vectors below are padded
  const float* bias = nullptr;
  const float* scale = nullptr;  // int8: as in LinearBytesArguments
  const float* sums = nullptr;
  Activation activation = Activation::kNone;
};

// Two linear layers; the second has as many outputs as the first has inputs. The number of hidden units is a multiple
// of 64. All other members are as in FastLinearArguments.
struct PerceptronArguments {
  Batch batch;
  Matrix x, y;
  Matrix residual = {};
  bool normalizes = false;
  float epsilon = 0;
  int hidden = 0;
  Activation activation = Activation::kNone;  // activation of the hidden units
  const uint16_t* first_weights = nullptr;    // [hidden, inputs] of bf16
  const float* first_bias = nullptr;
  const uint16_t* second_weights = nullptr;  // [outputs, hidden]
  const float* second_bias = nullptr;
};

// --- convolutions

// Writes the pixels of each patch to y, channels last.
struct PatchifyArguments {
  Batch batch;
  const float* pixels;
  int patch, channels;
  Matrix y;
};

// Size of one image's map, and its place in an array with the maps of all images. `first` is the number of positions of
// the earlier images. Arrays of MapRows have one extra entry, whose `first` is the end of the last image.
struct MapRows {
  int64_t first;
  int height, width;
};

// A layer of a stem: a convolution with zero padding, an activation, and a max pool over pool x pool positions. The
// height and width of its input are first cropped to multiples of `cut`.
struct ConvolveArguments {
  Batch batch;
  const float* x;       // planes of pixels, or positions of a map with their channels
  const MapRows* from;  // positions in x by image; null if x is planes of pixels
  const MapRows* to;
  float* y;
  int64_t y_stride;
  const float* weights;  // [kernel, kernel, channels, outputs]
  const float* bias;
  int channels, outputs, kernel, stride, padding, pool, cut;
  Activation activation;
  bool narrow;  // true: x and the weights are rounded to bf16, and the bias is added last
  bool rounds;  // true: y is rounded to bf16
};

// A convolution without pooling that multiplies bf16 numbers.
struct FastConvolveArguments {
  ConvolveArguments layer;  // its weights are not used
  const uint16_t* x;        // positions of a bf16 map; null: layer.x with pixels
  uint16_t* y;              // bf16 map; null: layer.y in fp32
  const uint16_t* weights;  // bf16 [steps, outputs in groups, kStepInputs], in the order in which the kernel reads them
  const uint32_t* taps;     // by step: one tap per pixel value, or one per 8 adjacent channels of a map
  int steps;                // each step multiplies kStepInputs values of a neighbourhood
};

// A 3 x 3 depthwise convolution. y = residual + scale * GELU(convolution) + shift. Without a scale,
// y = residual + convolution. Class tokens are not written.
struct DepthwiseArguments {
  Batch batch;
  Matrix x, y;
  Matrix residual;       // its data is null if there is no residual
  const float* weights;  // [9, channels]
  const float* bias;
  const float *scale, *shift;  // null if there is no scale
  bool narrow;                 // true: GELU is computed by NarrowGelu
};

// XCiT's local patch interaction: applies `first` to weight * n(x) + bias, and `second` to the result. n normalizes
// with the statistics. The input x is first.x; first.y and second.x are unused.
struct LocalArguments {
  DepthwiseArguments first, second;
  const RowStatistics* statistics;
  const float *weight, *bias;
};

// Writes the 3 x 3 neighbourhood of each cell to y, with zeros outside the grid.
struct GatherArguments {
  Batch batch;
  Matrix x, y;
};

// --- attention

struct AttendArguments {
  Batch batch;
  Matrix q, k, v, y;  // if y has fewer rows than q, only the first queries of each image are used
  int heads;
  float scale;
  const float* offsets;  // offsets of the first known_offsets keys, or null
  int known_offsets;
  // Fields used only by vitrine_attend_map, which computes scores and weights for `queries` queries of one image,
  // starting at first_query. `scores` and `weights` are [heads, queries, keys].
  int image = 0, first_query = 0, queries = 0;
  float *scores = nullptr, *weights = nullptr;
};

struct ChannelArguments {
  Batch batch;
  Matrix q, k, v, y;
  int heads;
  float* matrices;               // [images, heads, width, width]: weights or k^T v; vitrine_attend_channels allows null
  float* scores;                 // vitrine_attend_channels only: scores, [images, heads, width, width]; may be null
  float *inverse_q, *inverse_k;  // 1 / length of each column, [images, columns]
  float* factors;                // X-ViT: factor of each row of q in each head, [rows of q, heads]
  const float* temperature;      // by head: XCiT's temperature, or X-ViT's context scale
  const float* query_scale;      // X-ViT: by head
  bool over_values;              // X-ViT scales the rows (true) or the columns (false) of k^T v
  bool normalizes;               // false: X-ViT only multiplies by its scales; over_values is then true
  bool narrow;                   // true: both operands of products are rounded to bf16
};

// --- kernels that compute a single operation, used by vitrine-gpu-check

struct PrimitiveFloatsArguments {
  const float *a, *b, *c;  // [count]
  // bits of fma(a, b, c), a / b, sqrt(a), a * b + c, bf16 of a and b, round(a): [6, count]
  uint32_t* y;
  int count;
};

// y = a b + c. For bf16, `a` and `b` are [16, 16]. For int8, `a` is [16, 32] of unsigned bytes, and `b` is [32, 16] of
// signed bytes, stored by columns.
struct PrimitiveProductsArguments {
  const uint16_t *a, *b;  // `count` matrices of kPrimitiveBytes
  const uint32_t* c;      // [count, 16, 16], floats or integers
  uint32_t* y;            // [count, 16, 16], floats or integers
  int count;
  bool bytes;
};
inline constexpr int kPrimitiveBytes = 512;

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_ARGUMENTS_H_
