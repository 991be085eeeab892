// SPDX-License-Identifier: Apache-2.0
// Depthwise 3 x 3 convolutions of a tile of an image's grid, and XCiT's local patch interaction as one kernel. Results
// are bit-identical to those of the plain kernels.
//
// A block of 128 threads computes 16 channels of at most 14 x 14 cells. It loads the cells and their border into shared
// memory and pads with zeros outside the grid. Each thread then moves down one column for four channels. For each row,
// the thread loads three cells and adds each cell to three sums. Each cell is therefore read three times instead of
// nine.
//
// Shared memory: vitrine_fast_depthwise 16.8 kB; vitrine_fast_local 37.5 kB, with a border of two cells and the result
// of the first convolution. Traffic of vitrine_fast_local per image and layer (XCiT-N12, 224 x 224): input 2 x 100 KB
// (x is also the residual; the second read is mostly from L2), statistics 8 x 1.6 KB, output 100 KB; the plain kernels
// need 800 KB. The kernel is limited by instruction issue.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_DEPTHWISE_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_DEPTHWISE_CUH_

#include "models/engine/cuda/kernels/batch.cuh"
#include "models/engine/cuda/kernels/fast/gelu.cuh"
#include "models/engine/cuda/kernels/fast/shapes.h"

namespace vitrine::cuda {

static_assert(GeluTable::kBytes == kGeluTableBytes);
inline constexpr int kTileFours = kTileChannels / 4;

// Side of a tile including its border.
constexpr int SideOf(int border) {
  return kTileSide + 2 * border;
}

// A tile, and the first channel that the block computes.
struct ChannelTile {
  GridTile grid;
  int channel;

  VITRINE_DEVICE bool Has(int row, int column) const {
    return row >= 0 && row < grid.rows && column >= 0 && column < grid.columns;
  }
  VITRINE_DEVICE int RowOfCell(RowsOf rows, int row, int column) const {
    const int first = grid.first_cell + (rows == RowsOf::kTokens ? grid.image + 1 : 0);
    return first + row * grid.columns + column;
  }
  VITRINE_DEVICE Global<Float4> Fours(const Matrix& matrix, int row, int column) const {
    return ViewAs<Float4>(RowOf(matrix, RowOfCell(matrix.rows, row, column)) + channel);
  }
  VITRINE_DEVICE Float4 Weights(const float* weights, int four) const {
    return ViewAs<const Float4>(Global<const float>(weights + channel))[four];
  }
};

// Calls act(tile) for the block's share of tiles and channels.
template <class Act>
VITRINE_DEVICE void ForTiles(const Batch& batch, int channels, Act act) {
  const int groups = channels / kTileChannels;
  const int count = Global<const int>(batch.counts)[2] * groups;
  const Global<const GridTile> tiles(batch.tiles);
  for (int i = Block(); i < count; i += Blocks()) act(ChannelTile{tiles[i / groups], i % groups * kTileChannels});
}

// Loads the tile and its border, with zeros outside the grid. load(cell, row, i) reads the i-th group of four channels
// at `cell`, which points into row `row` of x. finish(loaded) converts the result to four numbers. Each thread has
// kAtOnce loads in flight.
template <int kBorder, class Load, class Finish>
VITRINE_DEVICE void LoadTile(Shared<Float4> to, const Matrix& x, const ChannelTile& tile, Load load, Finish finish) {
  constexpr int kSide = SideOf(kBorder), kFours = kSide * kSide * kTileFours, kAtOnce = 6;
  for (int first = Thread(); first < kFours; first += kAtOnce * kTileThreads) {
    decltype(load(tile.Fours(x, 0, 0), 0, 0)) loaded[kAtOnce];
    uint32_t inside = 0;
    VITRINE_UNROLL
    for (int time = 0; time < kAtOnce; ++time) {
      const int i = first + time * kTileThreads, cell = i / kTileFours;
      const int row = tile.grid.row - kBorder + cell / kSide, column = tile.grid.column - kBorder + cell % kSide;
      if (i < kFours && tile.Has(row, column)) {
        loaded[time] = load(tile.Fours(x, row, column), tile.RowOfCell(x.rows, row, column), i % kTileFours);
        inside |= 1u << time;
      }
    }
    VITRINE_UNROLL
    for (int time = 0; time < kAtOnce; ++time) {
      const int i = first + time * kTileThreads;
      Float4 made = {};
      if ((inside >> time & 1) != 0) made = finish(loaded[time]);
      if (i < kFours) to[i] = made;
    }
  }
}

// Weights of four channels.
struct DepthwiseFours {
  Float4 weights[9], bias;

  VITRINE_DEVICE DepthwiseFours(const DepthwiseArguments& arguments, const ChannelTile& tile, int four)
      : bias(tile.Weights(arguments.bias, four)) {
    for (int k = 0; k < 9; ++k) weights[k] = tile.Weights(arguments.weights + k * arguments.x.columns, four);
  }
  // Adds three cells of a row to `sum`, multiplied by weights `first` to first + 2.
  VITRINE_DEVICE void Add(const Float4 (&cells)[3], int first, Float4& sum) const {
    for (int k = 0; k < 3; ++k) {
      for (int j = 0; j < 4; ++j) sum.v[j] = Fma(cells[k].v[j], weights[first + k].v[j], sum.v[j]);
    }
  }
};

// Convolves kRows rows of a column, and sums in the order of the plain kernel; calls finish(row, sum) for each row.
// `from` points to the cell above and to the left of the first cell, in a tile with side kSide.
template <int kRows, int kSide, class Finish>
VITRINE_DEVICE void ConvolveColumn(Shared<const Float4> from, const DepthwiseFours& by, Finish finish) {
  Float4 above = {}, here = {};
  for (int row = 0; row < kRows + 2; ++row) {
    Float4 cells[3];
    for (int k = 0; k < 3; ++k) cells[k] = from[(row * kSide + k) * kTileFours];
    by.Add(cells, 6, above);
    if (row >= 2) finish(row - 2, above);
    by.Add(cells, 3, here);
    above = here;
    here = by.bias;
    by.Add(cells, 0, here);
  }
}

VITRINE_DEVICE Float4 Activated(Float4 x, const DepthwiseArguments& arguments, const GeluTable& gelu, Float4 scale,
                                Float4 shift) {
  for (int j = 0; j < 4; ++j) {
    const float activated = arguments.narrow ? gelu.Of(x.v[j]) : Gelu(x.v[j]);
    x.v[j] = Fma(activated, scale.v[j], shift.v[j]);
  }
  return x;
}

// Convolves the tile in shared memory, which has a border of one cell; calls finish(row, column, four, sum) for each
// cell.
template <class Finish>
VITRINE_DEVICE void ConvolveTile(Shared<const Float4> from, const DepthwiseArguments& arguments,
                                 const ChannelTile& tile, Finish finish) {
  constexpr int kSide = SideOf(1), kRows = kTileSide / 2;
  const int four = Thread() % kTileFours, column = Thread() / kTileFours % kSide;
  const int first = Thread() / (kTileFours * kSide) * kRows;
  if (column >= kTileSide) return;
  const DepthwiseFours by(arguments, tile, four);
  ConvolveColumn<kRows, kSide>(from + ((first * kSide + column) * kTileFours + four), by, [&](int row, Float4 sum) {
    const int grid_row = tile.grid.row + first + row, grid_column = tile.grid.column + column;
    if (tile.Has(grid_row, grid_column)) finish(grid_row, grid_column, four, sum);
  });
}

VITRINE_DEVICE void WriteDepthwise(const DepthwiseArguments& arguments, const ChannelTile& tile, int row, int column,
                                   int four, Float4 sum) {
  if (arguments.residual.data != nullptr) {
    const Float4 residual = tile.Fours(arguments.residual, row, column)[four];
    for (int j = 0; j < 4; ++j) sum.v[j] = residual.v[j] + sum.v[j];
  }
  tile.Fours(arguments.y, row, column)[four] = sum;
}

VITRINE_KERNEL(vitrine_fast_depthwise, DepthwiseArguments) {
  const GeluTable gelu(0);
  const Shared<Float4> cells = SharedMemory<Float4>(GeluTable::kBytes);
  ForTiles(arguments.batch, arguments.x.columns, [&](const ChannelTile& tile) {
    LoadTile<1>(
        cells, arguments.x, tile, [](Global<const Float4> x, int /*row*/, int four) { return x[four]; },
        [](Float4 x) { return x; });
    SyncBlock();
    ConvolveTile(cells, arguments, tile, [&](int row, int column, int four, Float4 sum) {
      if (arguments.scale != nullptr) {
        sum = Activated(sum, arguments, gelu, tile.Weights(arguments.scale, four), tile.Weights(arguments.shift, four));
      }
      WriteDepthwise(arguments, tile, row, column, four, sum);
    });
    SyncBlock();
  });
}

// Convolves a tile with a border of two cells. The result has a border of one cell, with zeros outside the grid.
VITRINE_DEVICE void ConvolveBorder(Shared<const Float4> from, const DepthwiseArguments& arguments,
                                   const ChannelTile& tile, const GeluTable& gelu, Shared<Float4> to) {
  constexpr int kSide = SideOf(1), kRows = kSide / 2;
  static_assert(kTileThreads == 2 * kSide * kTileFours);
  const int four = Thread() % kTileFours, column = Thread() / kTileFours % kSide;
  const int first = Thread() / (kTileFours * kSide) * kRows;
  const DepthwiseFours by(arguments, tile, four);
  const Float4 scale = tile.Weights(arguments.scale, four), shift = tile.Weights(arguments.shift, four);
  const Shared<const Float4> corner = from + ((first * SideOf(2) + column) * kTileFours + four);
  ConvolveColumn<kRows, SideOf(2)>(corner, by, [&](int row, Float4 sum) {
    Float4 made = {};
    if (tile.Has(tile.grid.row - 1 + first + row, tile.grid.column - 1 + column)) {
      made = Activated(sum, arguments, gelu, scale, shift);
    }
    to[((first + row) * kSide + column) * kTileFours + four] = made;
  });
}

struct CellOfNorm {
  Float4 x;
  RowStatistics norm;
};

VITRINE_BOUNDED_KERNEL(vitrine_fast_local, LocalArguments, kTileThreads, 4) {
  const DepthwiseArguments &one = arguments.first, &two = arguments.second;
  const Global<const RowStatistics> statistics(arguments.statistics);
  const GeluTable gelu(0);
  const Shared<Float4> normal = SharedMemory<Float4>(GeluTable::kBytes);
  const Shared<Float4> between = normal + SideOf(2) * SideOf(2) * kTileFours;
  ForTiles(one.batch, one.x.columns, [&](const ChannelTile& tile) {
    const Float4 weight = tile.Weights(arguments.weight, Thread() % kTileFours);
    const Float4 bias = tile.Weights(arguments.bias, Thread() % kTileFours);
    LoadTile<2>(
        normal, one.x, tile,
        [&](Global<const Float4> x, int row, int four) {
          return CellOfNorm{x[four], statistics[row]};
        },
        [&](const CellOfNorm& cell) {
          Float4 x = cell.x;
          for (int j = 0; j < 4; ++j)
            x.v[j] = Fma((x.v[j] - cell.norm.center) * cell.norm.scale, weight.v[j], bias.v[j]);
          return x;
        });
    SyncBlock();
    ConvolveBorder(normal, one, tile, gelu, between);
    SyncBlock();
    ConvolveTile(between, two, tile,
                 [&](int row, int column, int four, Float4 sum) { WriteDepthwise(two, tile, row, column, four, sum); });
  });
}

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_DEPTHWISE_CUH_
