// SPDX-License-Identifier: Apache-2.0
// Tests that the fast and the plain depthwise convolutions give the same bits, for grids of one tile and of several
// tiles, and that the fast ones do no more work than their tiles need.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/engine/cuda/launches/fast_kernels.h"
#include "tests/models/engine/cuda/kernel_batch.h"

namespace vitrine::testing {
namespace {

using cuda::DepthwiseArguments;
using cuda::Matrix;
using cuda::RowsOf;

const std::vector<std::vector<Grid>> kTiledBatches = {
    {{1, 1}}, {{14, 14}}, {{15, 3}, {1, 30}, {2, 2}}, {{13, 29}, {16, 14}}};

struct DepthwiseForm {
  int channels;
  RowsOf rows;
  bool activates, adds, narrow;
};

DepthwiseArguments NewArguments(KernelBatch& batch, const DepthwiseForm& form, const Matrix& x) {
  const auto channels = static_cast<size_t>(form.channels);
  DepthwiseArguments arguments = {.batch = batch.batch(),
                                  .x = x,
                                  .y = batch.NewMatrix(form.rows, form.channels, form.channels + 4),
                                  .residual = {},
                                  .weights = batch.Copy(batch.Numbers(9 * channels)),
                                  .bias = batch.Copy(batch.Numbers(channels)),
                                  .scale = nullptr,
                                  .shift = nullptr,
                                  .narrow = form.narrow};
  if (form.activates) {
    arguments.scale = batch.Copy(batch.Numbers(channels));
    arguments.shift = batch.Copy(batch.Numbers(channels));
  }
  if (form.adds) arguments.residual = batch.NewMatrix(RowsOf::kCells, form.channels, form.channels + 8, 4);
  return arguments;
}

TEST(CudaFastDepthwise, EqualsThePlainKernelBitForBit) {
  for (const DepthwiseForm& form : {DepthwiseForm{16, RowsOf::kCells, true, false, true},
                                    {32, RowsOf::kCells, false, true, false},
                                    {16, RowsOf::kTokens, true, true, false},
                                    {16, RowsOf::kTokens, false, false, true}}) {
    ExpectEqualBits(kTiledBatches, "convolution", [&](KernelBatch& batch, bool fast) {
      const Matrix x = batch.NewMatrix(form.rows, form.channels, form.channels + 12, 8);
      const DepthwiseArguments arguments = NewArguments(batch, form, x);
      fast ? batch.RunFast(arguments) : batch.Run("vitrine_depthwise", arguments);
      return batch.Read(arguments.y);
    });
  }
}

// Compares one kernel for XCiT's local patch interaction with the three kernels that it replaces.
TEST(CudaFastDepthwise, LocalInteractionEqualsThePlainKernelsBitForBit) {
  for (const DepthwiseForm& form :
       {DepthwiseForm{32, RowsOf::kCells, true, true, true}, {16, RowsOf::kCells, true, false, false}}) {
    ExpectEqualBits(kTiledBatches, "convolution", [&](KernelBatch& batch, bool fast) {
      const Matrix x = batch.NewMatrix(form.rows, form.channels, form.channels + 4);
      const Matrix normal = batch.NewMatrix(form.rows, form.channels);
      const float* const weight = batch.Copy(batch.Numbers(static_cast<size_t>(form.channels)));
      const float* const bias = batch.Copy(batch.Numbers(static_cast<size_t>(form.channels)));
      const DepthwiseForm of_first = {form.channels, form.rows, true, false, form.narrow};
      const DepthwiseForm of_second = {form.channels, form.rows, false, form.adds, form.narrow};
      DepthwiseArguments first = NewArguments(batch, of_first, normal);
      const DepthwiseArguments second = NewArguments(batch, of_second, first.y);
      auto* const statistics = batch.buffers().Allocate<cuda::RowStatistics>(static_cast<size_t>(batch.rows().cells()));
      batch.Run("vitrine_row_statistics", cuda::StatisticsArguments{batch.batch(), x, 1e-6F, statistics});
      if (fast) {
        first.x = x;
        batch.RunFast(cuda::LocalArguments{first, second, statistics, weight, bias});
      } else {
        batch.Run("vitrine_affine",
                  cuda::AffineArguments{batch.batch(), x, normal, statistics, weight, bias, cuda::Activation::kNone});
        batch.Run("vitrine_depthwise", first);
        batch.Run("vitrine_depthwise", second);
      }
      return batch.Read(second.y);
    });
  }
}

TEST(CudaFastDepthwise, PropagatesNan) {
  const DepthwiseForm form = {16, RowsOf::kCells, true, false, true};
  KernelBatch batch({{3, 16}});
  Matrix x = batch.NewMatrix(form.rows, form.channels);
  std::vector<float> numbers = batch.Read(x);
  constexpr size_t kCell = 16 + 13, kChannel = 5;  // row 1, column 13: at the border of two tiles
  numbers[kCell * 16 + kChannel] = NAN;
  x.data = const_cast<float*>(batch.Copy(numbers));
  const DepthwiseArguments arguments = NewArguments(batch, form, x);
  batch.RunFast(arguments);
  const std::vector<float> y = batch.Read(arguments.y);
  for (size_t cell = 0; cell < 48; ++cell) {
    EXPECT_EQ(std::isnan(y[cell * 20 + kChannel]), cell % 16 >= 12 && cell % 16 <= 14) << cell;
    EXPECT_FALSE(std::isnan(y[cell * 20 + kChannel + 1])) << cell;
  }
}

// The tests of counts run 2 x 2 tiles for two groups of 16 channels, in two blocks. The grid has cells on two sides of
// each tile. 16 floats are two sectors, and a pass of shared memory serves eight lanes with four floats each.
constexpr int64_t kSide = cuda::kTileSide, kCells = kSide * kSide, kChannels = cuda::kTileChannels;
constexpr int64_t kTiles = 4 * 2, kBlocks = 2, kThreads = cuda::kTileThreads, kWarps = kThreads / 32;
constexpr int64_t kSectorBytes = 32, kFourBytes = 16;
// Threads that convolve the columns of a tile in two halves, each for four channels.
constexpr int64_t kOfColumns = 2 * kSide * kChannels / 4;
// Returns the number of cells from which `side` x `side` cells are computed. Each column is computed in two halves,
// each with one more cell above and below.
constexpr int64_t CellsInHalves(int64_t side) {
  return 2 * (side / 2 + 2) * side;
}

class CountedBatch : public KernelBatch {
 public:
  CountedBatch() : KernelBatch({{2 * kSide, 2 * kSide}}, {.sms = 1, .counts = true}) {}

  DepthwiseArguments NewLayer(bool activates) {
    const Matrix x = NewMatrix(RowsOf::kCells, 2 * kChannels);
    DepthwiseArguments layer = NewArguments(*this, {2 * kChannels, RowsOf::kCells, activates, false, true}, x);
    layer.y = layer.residual = NewMatrix(RowsOf::kCells, 2 * kChannels);
    return layer;
  }
  // Runs the fast kernel and expects these counts for each tile: FMAs, bytes that lanes load and store, at most this
  // number of sectors, and passes of shared memory.
  template <class Arguments>
  void ExpectCounts(const Arguments& arguments, int64_t fmas, int64_t bytes, int64_t sectors, int64_t passes) {
    RunFast(arguments);
    const cuda::emulated::Counters& counters = machine().counters();
    const cuda::emulated::Traffic shared = counters.Total(/*is_shared=*/true);
    const cuda::emulated::Traffic global = counters.Total(/*is_shared=*/false);
    EXPECT_EQ(counters.fmas(), kTiles * fmas);
    // Each thread loads the description of each tile, and the number of tiles once.
    constexpr int64_t kTileBytes = kThreads * int64_t{sizeof(cuda::GridTile)};
    EXPECT_EQ(global.bytes, kTiles * (bytes + kTileBytes) + kBlocks * kThreads * int64_t{sizeof(int)});
    // The description of a tile is in one sector or in two.
    EXPECT_LE(global.sectors, kTiles * (sectors + 2 * kWarps));
    constexpr int64_t kTablePasses = kBlocks * cuda::kGeluTableBytes / 128;
    EXPECT_EQ(shared.passes, kTiles * passes + kTablePasses);
    EXPECT_EQ(shared.passes, shared.least_passes);
  }
};

TEST(CudaFastDepthwise, DoesTheWorkOfItsTilesWithoutBankConflicts) {
  CountedBatch batch;
  const int64_t rows = 2 * ((kSide + 1) * (kSide + 1) + 2 * kCells), weights = 2 * kWarps * (9 + 1);
  batch.ExpectCounts(batch.NewLayer(/*activates=*/false), kChannels * 9 * CellsInHalves(kSide),
                     kSectorBytes * rows + kFourBytes * kOfColumns * (9 + 1), rows + weights,
                     ((kSide + 2) * (kSide + 2) + 3 * CellsInHalves(kSide)) / 2);
}

TEST(CudaFastDepthwise, LocalInteractionDoesTheWorkOfItsTilesWithoutBankConflicts) {
  CountedBatch batch;
  const float* const weight = batch.Copy(batch.Numbers(2 * kChannels));
  const float* const statistics = batch.Copy(batch.Numbers(2 * 4 * kCells));
  const cuda::LocalArguments arguments = {batch.NewLayer(/*activates=*/true), batch.NewLayer(/*activates=*/false),
                                          reinterpret_cast<const cuda::RowStatistics*>(statistics), weight, weight};
  // The kernel loads a border of two cells and activates a border of one cell, which the grid has on two sides.
  constexpr int64_t kMiddle = kSide + 2, kLoaded = kSide + 4, kActivated = (kSide + 1) * (kSide + 1);
  constexpr int64_t kConvolved = CellsInHalves(kMiddle) + CellsInHalves(kSide);
  // GELU takes three FMAs and three words of its table. A warp activates eight columns.
  const int64_t fmas = (kSide + 2) * (kSide + 2) + 9 * kConvolved + (3 + 1) * kActivated;
  const int64_t table = 2 * (kSide + 1) * 4 * 3;
  const int64_t rows = 2 * ((kSide + 2) * (kSide + 2) + 2 * kCells), weights = 2 * kWarps * (2 + 10 + 2 + 10);
  const int64_t statistics_sectors = kLoaded * kLoaded / 2;  // at most four for eight cells
  // Four lanes load the statistics of a cell.
  const int64_t statistics_bytes = 4 * (kSide + 2) * (kSide + 2) * int64_t{sizeof(cuda::RowStatistics)};
  const int64_t weights_bytes = kFourBytes * (kThreads * (2 + 10 + 2) + kOfColumns * 10);
  batch.ExpectCounts(arguments, kChannels * fmas, kSectorBytes * rows + weights_bytes + statistics_bytes,
                     rows + weights + statistics_sectors,
                     (kLoaded * kLoaded + kMiddle * kMiddle + 3 * kConvolved) / 2 + table);
}

// The engine chooses the plain kernel if the number of channels is no multiple of the channel group.
TEST(CudaFastDepthwise, NeedsAMultipleOfTheChannelGroup) {
  KernelBatch batch({{2, 2}});
  const DepthwiseForm form = {12, RowsOf::kCells, true, false, true};
  const DepthwiseArguments arguments = NewArguments(batch, form, batch.NewMatrix(form.rows, form.channels));
  EXPECT_EQ(std::string(cuda::Choose(arguments).kernel), "vitrine_depthwise");
}

}  // namespace
}  // namespace vitrine::testing
