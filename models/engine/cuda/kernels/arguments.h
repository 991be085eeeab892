// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels, which the host writes and kernels read. Addresses are of device memory.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_ARGUMENTS_H_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_ARGUMENTS_H_

#include <cstdint>

#include "models/engine/activation.h"
#include "models/engine/plan/operand.h"

namespace vitrine::cuda {

using engine::Activation;
using engine::RowsOf;

// An image of a batch. Its cells are rows of cells, row by row of its grid; in rows of tokens its class token precedes
// them.
struct ImageRows {
  int64_t first_pixel;  // of its planes, [channels, height, width]
  int height, width;
  int first_cell;
  int grid_rows, grid_columns;
};

// A part of an image's grid, at most kTileSide x kTileSide cells from (row, column) on.
struct GridTile {
  int row, column;
  int image, first_cell, rows, columns;  // of the whole grid
};

// A batch in device memory, uploaded before its pass.
struct Batch {
  const int* counts;                // images, cells, tiles
  const ImageRows* images;          // one more than there are images, whose first_cell is the number of cells
  const GridTile* tiles = nullptr;  // of all grids
};

// Columns of a matrix whose rows are those of a batch.
struct Matrix {
  float* data = nullptr;
  int64_t stride = 0;
  int columns = 0;
  RowsOf rows = RowsOf::kTokens;
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

// y = activation(n(x) scale + shift), n as the statistics say, or x itself without them.
struct AffineArguments {
  Batch batch;
  Matrix x, y;
  const RowStatistics* statistics;  // or null
  const float *scale, *shift;
  Activation activation;
};

// y = n(x) weight + bias.
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

// Rows of x that go to y, each to the same row of the same image.
enum class CopiedRows {
  kAll,    // x and y have the same rows
  kClass,  // class tokens
  kCells,
};

struct CopyArguments {
  Batch batch;
  Matrix x, y;
  CopiedRows rows;
};

// y: the mean of each image's cells.
struct MeanArguments {
  Batch batch;
  Matrix x, y;
};

// --- linear layers

struct LinearArguments {
  Batch batch;
  Matrix x, y;
  Matrix residual;                  // or without data
  const RowStatistics* statistics;  // null: n(x) is x
  const void* weights;              // [inputs, outputs] of fp32 or bf16
  const float* bias;
  Activation activation;
};

// Value of the bytes of a row: least + step * byte.
struct ByteRange {
  float step, least;
};

struct QuantizeArguments {
  Batch batch;
  Matrix x;
  const RowStatistics* statistics;  // or null
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
  const float *bias, *scale;  // `scale`: value of a weight's unit, by output
  const float* sums;          // of the weights, by output
  Activation activation;
};

// For the fast kernels: x has a multiple of 16 columns, y of 4, and all rows begin at multiples of 16 bytes.
struct FastLinearArguments {
  Batch batch;
  Matrix x, y;
  Matrix residual = {};     // or without data
  bool normalizes = false;  // in the kernel, with `epsilon`
  float epsilon = 0;
  const RowStatistics* statistics = nullptr;  // of rows that another kernel describes
  const void* weights = nullptr;  // [outputs, inputs] of bf16 or int8; outputs and the vectors below are padded
  const float* bias = nullptr;
  const float* scale = nullptr;  // of int8: as of LinearBytesArguments
  const float* sums = nullptr;
  Activation activation = Activation::kNone;
};

// Two linear layers, whose hidden units number a multiple of 64; otherwise as FastLinearArguments, with as many outputs
// as inputs.
struct PerceptronArguments {
  Batch batch;
  Matrix x, y;
  Matrix residual = {};
  bool normalizes = false;
  float epsilon = 0;
  int hidden = 0;
  Activation activation = Activation::kNone;  // of the hidden units
  const uint16_t* first_weights = nullptr;    // [hidden, inputs] of bf16
  const float* first_bias = nullptr;
  const uint16_t* second_weights = nullptr;  // [outputs, hidden]
  const float* second_bias = nullptr;
};

// --- convolutions

// y: the pixels of each patch, channels last.
struct PatchifyArguments {
  Batch batch;
  const float* pixels;
  int patch, channels;
  Matrix y;
};

// Places of an image's map: `first` of all places of the batch. One row more than images says where the last ends.
struct MapRows {
  int64_t first;
  int height, width;
};

// A layer of a stem: a convolution with zero padding, an activation, and a maximum over pool x pool places.
struct ConvolveArguments {
  Batch batch;
  const float* x;       // pixels as planes, or places of a map with their channels
  const MapRows* from;  // places of x by image, after the cut; null for pixels, cut by `cut`
  const MapRows* to;
  float* y;
  int64_t y_stride;
  const float* weights;  // [kernel, kernel, channels, outputs]
  const float* bias;
  int channels, outputs, kernel, stride, padding, pool, cut;
  Activation activation;
  bool narrow;  // x and the weights are rounded to bf16, and the bias is added last
  bool rounds;  // y is rounded to bf16
};

// A layer without pooling whose products are bf16.
struct FastConvolveArguments {
  ConvolveArguments layer;  // its weights are not read
  const uint16_t* x;        // places of a map, of bf16; null for layer.x: pixels
  uint16_t* y;              // the same; null for layer.y: fp32
  const uint16_t* weights;  // of bf16: [steps, outputs in groups, kStepInputs], in the order of the kernel
  const uint32_t* taps;     // of pixels: each number of a step; of maps: each 8 neighbouring ones
  int steps;
};

// A 3 x 3 convolution of each channel; y = residual + scale GELU(convolution) + shift, without a scale y = residual +
// convolution. Class tokens are not written.
struct DepthwiseArguments {
  Batch batch;
  Matrix x, y;
  Matrix residual;       // or without data
  const float* weights;  // [9, channels]
  const float* bias;
  const float *scale, *shift;  // or null
  bool narrow;                 // the shorter GELU
};

// XCiT's local patch interaction: `second` of `first` of weight n(x) + bias, where x is that of `first`. Neither
// `first.y` nor `second.x` exists.
struct LocalArguments {
  DepthwiseArguments first, second;
  const RowStatistics* statistics;
  const float *weight, *bias;
};

// y: the 3 x 3 neighbourhood of each cell, zeros outside of the grid.
struct GatherArguments {
  Batch batch;
  Matrix x, y;
};

// --- attention

struct AttendArguments {
  Batch batch;
  Matrix q, k, v, y;  // as many of an image's first queries as y has rows
  int heads;
  float scale;
  const float* offsets;  // of the first keys, or null
  int known_offsets;
  // For vitrine_attend_map: scores and weights of one image, [heads, queries, keys], from first_query on.
  int image = 0, first_query = 0, queries = 0;
  float *scores = nullptr, *weights = nullptr;
};

struct ChannelArguments {
  Batch batch;
  Matrix q, k, v, y;
  int heads;
  float* matrices;               // [images, heads, width, width]; of weights, or null, for vitrine_attend_channels
  float* scores;                 // for vitrine_attend_channels: the same before the softmax, or null
  float *inverse_q, *inverse_k;  // 1 / length of each column, [images, columns]
  float* factors;                // of each row and head of q, [rows of q, heads]
  const float* temperature;      // by head, or X-ViT's context scale
  const float* query_scale;      // by head
  bool over_values;
  bool normalizes;  // false: X-ViT's scales without its lengths; over_values is then true
  bool narrow;      // both sides of products are rounded to bf16
};

// --- single operations, for vitrine-gpu-check

struct PrimitiveFloatsArguments {
  const float *a, *b, *c;  // [count]
  uint32_t* y;             // bits of a b + c, a / b, sqrt(a), a b rounded + c, bf16 of a and b, a rounded: [6, count]
  int count;
};

// y = a b + c. Of bf16: a [16, 16], b [16, 16]. Of bytes: a [16, 32] unsigned, b [16, 32] signed, its rows are columns.
struct PrimitiveProductsArguments {
  const uint16_t *a, *b;  // `count` matrices of kPrimitiveBytes
  const uint32_t* c;      // [count, 16, 16], floats or integers
  uint32_t* y;            // the same
  int count;
  bool bytes;
};
inline constexpr int kPrimitiveBytes = 512;

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_ARGUMENTS_H_
