// SPDX-License-Identifier: Apache-2.0
// Linear layers on tensor cores: y = residual + activation(n(x) W^T + b), in bf16 or int8.
//
// A block of 256 threads computes 128 rows at a time. It computes 64 rows if a row has 513 to 1024 bytes, or at most
// 512 bytes in a bf16 layer without a norm. It loads the rows once, normalizes or quantizes them, and keeps them in
// shared memory as bf16 or bytes. Then it computes tiles of 128 outputs. Asynchronous copies load the weights one stage
// ahead, 128 bytes of each output at a time. A warp computes 32 rows by 64 outputs (32 outputs if the tile has 64
// rows). If at most 64 outputs are left, a warp computes half as many outputs.
//
// Shared memory: 33 kB, plus 272 bytes per row of 128 bf16; at most 101 kB. Global memory: x is read once as fp32 or
// bf16, and once more by each further block that computes the same rows (see Run). Rows longer than 1024 bytes are read
// once per 128 outputs. Weights are read once per tile of rows, from L2. Traffic per image and layer (qkv of XCiT-N12,
// 224 x 224): 100 kB in, 150 kB out, 150 kB of weights, for 19 MFLOP. The kernel is limited by memory, or by L2 if the
// activations fit in L2.
//
// Each output is the sum of one chain of mma instructions over k, 16 or 32 values of k at a time in ascending order.
// Its bits therefore depend only on its row.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_LINEAR_TILE_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_LINEAR_TILE_CUH_

#include "models/engine/cuda/kernels/fast/linear_tiles.h"
#include "models/engine/cuda/kernels/fast/output_rows.cuh"
#include "models/engine/cuda/kernels/fast/row_tile.cuh"

namespace vitrine::cuda {

static_assert(GeluTable::kBytes <= kGeluBytes);

VITRINE_DEVICE void Multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  MultiplyBf16(d, a, b);
}
VITRINE_DEVICE void Multiply(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  MultiplyBytes(d, a, b);
}

// A row of weights (one output) in shared memory is 8 chunks of 16 bytes. In an mma, lane 4 g + t has columns 2 t and 2
// t + 1 of every 8 columns. If rows are taken in the order 0, 1, 4, 5, ..., 13, then 2, 3, 6, 7, ..., 15, the lane has
// outputs 4 t to 4 t + 3 of every 16 outputs. Swizzle puts the chunks of the 8 rows that ldmatrix loads into different
// banks.
struct OutputOrder {
  static VITRINE_DEVICE int Row(int lane) { return lane % 8 / 2 * 4 + lane / 16 * 2 + lane % 2; }
  static VITRINE_DEVICE int Swizzle(int row) { return row / 4 % 4 * 2 + row % 2; }
};

// Functions that load the rows and compute the outputs of a bf16 layer.
struct Bf16Layer {
  using Loads = RowLoads<LinearTiles::kThreads>;
  using Sum = float;
  static constexpr int kBytes = 2, kRowsAtOnce = 2;  // bytes per number, and rows that a lane finishes at once
  static constexpr bool kLoadsAhead = true;          // true: registers hold the bias of the next outputs too

  template <int kRows>
  static VITRINE_DEVICE void Load(const FastLinearArguments& arguments, int first, int end, const RowTile& to) {
    if (arguments.x.narrow) {
      Loads::CopyRows(arguments.x, first, end, 0, to);
      CommitCopies();
    } else if (!arguments.normalizes) {
      Loads::LoadRounded(arguments.x, Global<const RowStatistics>(nullptr), first, end, 0, to);
    } else if (kRows == 64) {
      Loads::template LoadNormalized<16, false>(arguments.x, arguments.epsilon, first, end, to);
    } else if (arguments.x.columns == 128) {
      Loads::template LoadNormalized<4, true>(arguments.x, arguments.epsilon, first, end, to);
    } else if (arguments.x.columns == 192) {
      Loads::template LoadNormalized<6, true>(arguments.x, arguments.epsilon, first, end, to);
    } else {
      Loads::template LoadNormalized<8, false>(arguments.x, arguments.epsilon, first, end, to);
    }
  }

  // Loads the bias of four outputs.
  VITRINE_DEVICE Bf16Layer(const FastLinearArguments& arguments, int column)
      : bias_(ViewAs<const Float4>(Global<const float>(arguments.bias) + column)[0]) {}
  VITRINE_DEVICE float Value(float sum, int i, const RowTile& /*x*/, int /*row*/) const { return sum + bias_.v[i]; }

 private:
  Float4 bias_;
};

struct BytesLayer {
  using Loads = RowLoads<LinearTiles::kThreads>;
  using Sum = int32_t;
  static constexpr int kBytes = 1, kRowsAtOnce = 1;
  static constexpr bool kLoadsAhead = false;

  template <int kRows>
  static VITRINE_DEVICE void Load(const FastLinearArguments& arguments, int first, int end, const RowTile& to) {
    if (kRows == 64) {
      Loads::template LoadBytes<32>(arguments.x, arguments.normalizes, arguments.epsilon, first, end, to);
    } else if (to.width > 128) {
      Loads::template LoadBytes<16>(arguments.x, arguments.normalizes, arguments.epsilon, first, end, to);
    } else if (to.width > 64) {
      Loads::template LoadBytes<8>(arguments.x, arguments.normalizes, arguments.epsilon, first, end, to);
    } else {
      Loads::template LoadBytes<4>(arguments.x, arguments.normalizes, arguments.epsilon, first, end, to);
    }
  }

  VITRINE_DEVICE BytesLayer(const FastLinearArguments& arguments, int column)
      : bias_(ViewAs<const Float4>(Global<const float>(arguments.bias) + column)[0]),
        scale_(ViewAs<const Float4>(Global<const float>(arguments.scale) + column)[0]),
        sums_(ViewAs<const Float4>(Global<const float>(arguments.sums) + column)[0]) {}
  VITRINE_DEVICE float Value(int32_t sum, int i, const RowTile& x, int row) const {
    const ByteRange range = ViewAs<ByteRange>(x.data + (row * x.stride + x.width))[0];
    return ValueOfBytes(sum, scale_.v[i], sums_.v[i], bias_.v[i], range);
  }

 private:
  Float4 bias_, scale_, sums_;
};

// Work of one block. With kPanels, x is loaded in pieces of kLong bytes per row.
template <class Layer, int kRows, bool kPanels>
class LinearBlock {
 public:
  VITRINE_DEVICE explicit LinearBlock(const FastLinearArguments& arguments)
      : arguments_(arguments), rows_(Images(arguments.batch).Rows(arguments.x.rows)), gelu_(0) {}

  // Computes this block's share of the tiles. The numbers of tiles of any two blocks differ by at most one. A block
  // computes the tiles of the same rows one after another. The number of blocks does not change the outputs.
  VITRINE_DEVICE void Run() {
    for (int tile = FirstTile(0); tile < FirstTile(1);) {
      const int tiles = tiles_of_row(), first = tile % tiles, left = FirstTile(1) - tile;
      const int last = left < tiles - first ? first + left : tiles;
      RunTiles(tile / tiles * kRows, first, last);
      tile += last - first;
    }
  }

 private:
  using Sum = typename Layer::Sum;
  using Loads = typename Layer::Loads;
  static constexpr int kChunk = LinearTiles::kChunkBytes / 2;
  static constexpr int kPanelChunks = LinearTiles::kLong / LinearTiles::kChunkBytes;
  static constexpr int kRowWarps = kRows / 32, kColumnWarps = LinearTiles::kWarps / kRowWarps;
  static constexpr int kPairs = LinearTiles::kColumns / 16 / kColumnWarps;  // pairs of tiles per warp, 16 outputs each

  VITRINE_DEVICE RowTile x() const {
    const int width = kPanels ? kPanelChunks * kChunk : chunks() * kChunk;
    return {SharedMemory<uint16_t>(LinearTiles::kX), width + kRowPadding / 2, kRows, width};
  }
  // The following values are computed again at each use, so that they occupy no registers in between.
  VITRINE_DEVICE int row_words() const { return arguments_.x.columns * Layer::kBytes / 2; }  // words of 16 bits
  VITRINE_DEVICE int chunks() const { return (row_words() + kChunk - 1) / kChunk; }
  VITRINE_DEVICE int tiles_of_row() const {
    return (arguments_.y.columns + LinearTiles::kColumns - 1) / LinearTiles::kColumns;
  }
  // Returns the first tile of this block if `after` is 0, or of the next block if `after` is 1.
  VITRINE_DEVICE int FirstTile(int after) const {
    const int all = (Opaque(rows_) + kRows - 1) / kRows * tiles_of_row(), block = Block() + after;
    const int more = all % Blocks();  // the first `more` blocks have one tile more
    return block * (all / Blocks()) + (block < more ? block : more);
  }

  VITRINE_DEVICE int row_of_warp() const { return Thread() / kWarp % kRowWarps * 32; }
  VITRINE_DEVICE int column_warp() const { return Thread() / kWarp / kRowWarps; }
  VITRINE_DEVICE Shared<uint16_t> stage() const {
    return SharedMemory<uint16_t>(LinearTiles::kWeights + stage_ * LinearTiles::kStageBytes);
  }

  VITRINE_DEVICE void RunTiles(int first_row, int tile, int end) {
    SyncBlock();  // all threads have finished with the previous rows
    first_row_ = first_row;
    end_ = end;
    CopyWeights(tile, 0);
    if (!kPanels) Layer::template Load<kRows>(arguments_, first_row, rows_, x());
    if (arguments_.residual.data != nullptr) {
      const int last = end * LinearTiles::kColumns;
      Loads::PrefetchRows(arguments_.residual, first_row, first_row + kRows < rows_ ? first_row + kRows : rows_,
                          tile * LinearTiles::kColumns, last < arguments_.y.columns ? last : arguments_.y.columns);
    }
    for (; tile < end; ++tile) {
      if (arguments_.y.columns - tile * LinearTiles::kColumns > LinearTiles::kColumns / 2) {
        RunTile<kPairs>(tile);
      } else {
        RunTile<kPairs / 2>(tile);
      }
    }
  }

  // Copies a chunk of weights into the unused stage, which becomes the next stage. After the last tile, copies nothing.
  VITRINE_DEVICE void CopyWeights(int tile, int chunk) {
    stage_ ^= 1;
    if (tile < end_) {
      const int column = tile * LinearTiles::kColumns, left = arguments_.y.columns - column;
      const int columns = left > LinearTiles::kColumns / 2 ? LinearTiles::kColumns : LinearTiles::kColumns / 2;
      const int thread = Opaque(Thread()), at = thread % 8, from = chunk * kChunk + at * 8;
      const bool valid = from < row_words();
      constexpr int kStep = LinearTiles::kThreads / 8;  // rows copied at once; a multiple of 16, the period of Swizzle
      const int row = thread / 8;
      const Shared<uint16_t> to = stage() + (row * kChunk + (at ^ OutputOrder::Swizzle(row)) * 8);
      Global<const uint16_t> weights = Global<const uint16_t>(static_cast<const uint16_t*>(arguments_.weights)) +
                                       ((column + row) * row_words() + (valid ? from : 0));
      VITRINE_UNROLL
      for (int i = 0; i < LinearTiles::kColumns / kStep; ++i) {
        if (i * kStep >= columns) break;
        CopyAsync(to + i * kStep * kChunk, weights, valid);
        weights = weights + kStep * row_words();
      }
    }
    CommitCopies();
  }

  // Computes 16 * kTilePairs columns of outputs per warp.
  template <int kTilePairs>
  VITRINE_DEVICE void RunTile(int tile) {
    const int column = tile * LinearTiles::kColumns + column_warp() * (16 * kTilePairs);
    Sum sums[2][2 * kTilePairs][4] = {};
    const bool has_rows = first_row_ + row_of_warp() < rows_;
    for (int chunk = 0; chunk < chunks(); ++chunk) {
      const int of_panel = kPanels ? chunk % kPanelChunks : chunk;
      if (kPanels && of_panel == 0) {
        SyncBlock();
        if (arguments_.x.narrow) {
          Loads::CopyRows(arguments_.x, first_row_, rows_, chunk * kChunk, x());
          CommitCopies();
        } else {
          Loads::LoadRounded(arguments_.x, Global<const RowStatistics>(arguments_.statistics), first_row_, rows_,
                             chunk * kChunk, x());
        }
      }
      WaitCopies<0>();
      SyncBlock();
      const Shared<uint16_t> weights = stage() + column_warp() * (16 * kTilePairs * kChunk);
      const bool is_last = chunk + 1 == chunks();
      CopyWeights(is_last ? tile + 1 : tile, is_last ? 0 : chunk + 1);
      if (has_rows) MultiplyChunk(of_panel, weights, sums);
    }
    if (!has_rows) return;
    // Layers without an activation have separate, short code. A launch runs this code only a few times, so fetching its
    // instructions takes a noticeable part of the time.
    if (arguments_.y.narrow) {
      if (arguments_.activation == Activation::kNone) {
        Finish<false, uint16_t>(column, sums);
      } else {
        Finish<true, uint16_t>(column, sums);
      }
    } else {
      if (arguments_.activation == Activation::kNone) {
        Finish<false, float>(column, sums);
      } else {
        Finish<true, float>(column, sums);
      }
    }
  }

  template <int kEights>
  VITRINE_DEVICE void MultiplyChunk(int of_panel, Shared<uint16_t> weights, Sum (&sums)[2][kEights][4]) const {
    const int lane = Opaque(Lane());
    const int stride = x().stride;
    const Shared<uint16_t> rows = x().data + ((row_of_warp() + lane % 16) * stride + of_panel * kChunk + lane / 16 * 8);
    const Shared<uint16_t> w = weights + OutputOrder::Row(lane) * kChunk;
    VITRINE_UNROLL_BY(1)
    for (int step = 0; step < kChunk / 16; ++step) {
      uint32_t left[2][4];
      VITRINE_UNROLL
      for (int i = 0; i < 2; ++i) LoadMatrices(left[i], rows + (i * 16 * stride + step * 16));
      const int at = ((step * 2 + lane / 8 % 2) ^ lane % 8) * 8;
      VITRINE_UNROLL
      for (int pair = 0; pair < kEights / 2; ++pair) {
        uint32_t right[4];
        LoadMatrices(right, w + (pair * 16 * kChunk + at));
        VITRINE_UNROLL
        for (int i = 0; i < 2; ++i) {
          Multiply(sums[i][2 * pair], left[i], {right[0], right[1]});
          Multiply(sums[i][2 * pair + 1], left[i], {right[2], right[3]});
        }
      }
    }
  }

  template <bool kActivates, class Number, int kEights>
  VITRINE_DEVICE void Finish(int first_column, const Sum (&sums)[2][kEights][4]) const {
    constexpr int kAtOnce = Layer::kRowsAtOnce;
    const int lane = Opaque(Lane()), column = first_column + lane % 4 * 4;
    VITRINE_UNROLL
    for (int begin = 0; begin < 4; begin += kAtOnce) {
      const int row = row_of_warp() + lane / 4 + 8 * begin;
      OutputRows<kAtOnce, Number> rows(arguments_.residual, arguments_.y, first_row_ + row, rows_, column);
      Layer next(arguments_, column);
      VITRINE_UNROLL
      for (int pair = 0; pair < kEights / 2; ++pair) {
        if (!rows.Has(16 * pair)) break;
        if (!Layer::kLoadsAhead && pair > 0) next = Layer(arguments_, column + 16 * pair);
        const Layer layer = next;
        if (Layer::kLoadsAhead && rows.Has(16 * (pair + 1))) next = Layer(arguments_, column + 16 * (pair + 1));
        Outputs<kAtOnce> outputs;
        VITRINE_UNROLL
        for (int i = 0; i < 4 * kAtOnce; ++i) {
          const int r = begin + i / 4, of_sums = r % 2 * 2 + i % 2;  // rows g and g + 8 of two products
          const Sum sum = sums[r / 2][2 * pair + i % 4 / 2][of_sums];
          outputs.v[i / 4][i % 4] = layer.Value(sum, i % 4, x(), row + i / 4 * 8);
        }
        if (kActivates) outputs.Activate(gelu_, arguments_.activation);
        rows.AddResidual(outputs, 16 * (pair + 1));
        rows.Store(outputs, 16 * pair);
      }
    }
  }

  const FastLinearArguments& arguments_;
  const int rows_;  // number of rows in the batch
  const GeluTable gelu_;
  int first_row_ = 0;
  int end_ = 0;    // index after the last tile of outputs
  int stage_ = 0;  // stage copied last
};

// Defines one kernel per number type, tile size and use of panels, so that a kernel has few instructions and registers.
#define VITRINE_FAST_LINEAR(name, Layer, rows, panels)                          \
  VITRINE_BOUNDED_KERNEL(name, FastLinearArguments, LinearTiles::kThreads, 2) { \
    LinearBlock<Layer, rows, panels>(arguments).Run();                          \
  }
VITRINE_FAST_LINEAR(vitrine_fast_linear_bf16_64, Bf16Layer, 64, false)
VITRINE_FAST_LINEAR(vitrine_fast_linear_bf16_128, Bf16Layer, 128, false)
VITRINE_FAST_LINEAR(vitrine_fast_linear_bf16_long, Bf16Layer, 128, true)
VITRINE_FAST_LINEAR(vitrine_fast_linear_int8_64, BytesLayer, 64, false)
VITRINE_FAST_LINEAR(vitrine_fast_linear_int8_128, BytesLayer, 128, false)

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_LINEAR_TILE_CUH_
