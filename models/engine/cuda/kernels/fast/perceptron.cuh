// SPDX-License-Identifier: Apache-2.0
// Perceptrons on tensor cores in bf16: y = residual + activation(n(x) W1^T + b1) W2^T + b2, with as many outputs as
// inputs.
//
// A block has 16 kBlocks rows for each of its warps. It loads and normalizes them once as in a linear layer; then
// strips of kStrip hidden units come by, weights of the first product and then of the second, each copied while the
// other is used. A warp keeps all its numbers to itself: sums of kPart hidden units at a time become, activated and
// rounded, operands of the second product, since lanes hold a product's sums as they hold a left operand. So hidden
// rows are never in memory, and all sums of the outputs stay in registers.
//
//            tile of rows  threads  shared memory  sums in registers
//   128          128         128        68 kB            128
//   192          128         256        98 kB             96
//   256          128         256        98 kB            128
//
// Global memory: x is read once, the residual once (from the L2 cache if it is x), y written once; the weights come
// from the L2 cache for each tile. XCiT-N12 at 224 x 224, a layer: 200 to 300 kB and 400 kB of weights an image for 51
// MFLOP. Bound by tensor cores and shared memory, which gives 192 bytes for each mma (256 and more in the wider ones).
//
// Each sum is one chain of mma over k in ascending order, so bits of a row depend on it alone.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_PERCEPTRON_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_PERCEPTRON_CUH_

#include "models/engine/cuda/kernels/fast/linear_tile.cuh"

namespace vitrine::cuda {

template <int kWidth>
class PerceptronBlock {
 public:
  VITRINE_DEVICE explicit PerceptronBlock(const PerceptronArguments& arguments)
      : arguments_(arguments),
        rows_(Images(arguments.batch).Rows(arguments.x.rows)),
        x_{SharedMemory<uint16_t>(Tiles::kX), kWidth + kRowPadding / 2, Tiles::kRows, kWidth},
        gelu_(0) {}

  VITRINE_DEVICE void Run() {
    for (int first = Block() * Tiles::kRows; first < rows_; first += Blocks() * Tiles::kRows) RunTile(first);
  }

 private:
  using Tiles = PerceptronTiles<kWidth>;
  static constexpr int kBlocks = Tiles::kBlocks, kStrip = Tiles::kStrip, kPart = Tiles::kPart;
  using Sums = float[kBlocks][kWidth / 8][4];
  using Hidden = float[kBlocks][kPart / 8][4];

  VITRINE_DEVICE int row_of_warp() const { return Thread() / kWarp * (16 * kBlocks); }
  static VITRINE_DEVICE Shared<uint16_t> FirstWeights() { return SharedMemory<uint16_t>(Tiles::kFirst); }
  static VITRINE_DEVICE Shared<uint16_t> SecondWeights() { return SharedMemory<uint16_t>(Tiles::kSecond); }

  VITRINE_DEVICE void RunTile(int first) {
    const bool has_rows = first + row_of_warp() < rows_;
    SyncBlock();  // all threads have finished with the previous rows
    CopyFirst(0);
    Load(first);
    Sums sums = {};
    VITRINE_UNROLL_BY(1)
    for (int strip = 0; strip < arguments_.hidden; strip += kStrip) {
      WaitCopies<0>();
      SyncBlock();  // the first weights have arrived, and all threads have finished with the second ones
      CopySecond(strip);
      uint32_t hidden[kBlocks][kStrip / 16][4];
      if (has_rows) {
        VITRINE_UNROLL
        for (int part = 0; part < kStrip; part += kPart) MultiplyFirst(strip, part, hidden);
      }
      WaitCopies<0>();
      SyncBlock();
      if (strip + kStrip < arguments_.hidden) CopyFirst(strip + kStrip);
      if (has_rows) MultiplySecond(hidden, sums);
    }
    if (has_rows) Finish(first, sums);
  }

  VITRINE_DEVICE void Load(int first) const {
    if (!arguments_.normalizes) {
      LoadRounded(arguments_.x, Global<const RowStatistics>(nullptr), first, rows_, 0, x_);
    } else {
      LoadNormalized<(kWidth + kWarp - 1) / kWarp>(arguments_.x, arguments_.epsilon, first, rows_, x_);
    }
  }

  // Copies [kStrip, kWidth] weights of the first product. The same chunk of 16 bytes of 8 rows is in different banks.
  VITRINE_DEVICE void CopyFirst(int strip) const {
    constexpr int kChunks = kWidth / 8;
    const Global<const uint16_t> from(arguments_.first_weights + int64_t{strip} * kWidth);
    for (int i = Opaque(Thread()); i < kStrip * kChunks; i += Tiles::kThreads) {
      const int row = i / kChunks, chunk = i % kChunks;
      CopyAsync(FirstWeights() + (row * kWidth + (chunk ^ row % 8) * 8), from + i * 8);
    }
    CommitCopies();
  }
  // Copies [kWidth, kStrip] weights of the second product, in OutputOrder.
  VITRINE_DEVICE void CopySecond(int strip) const {
    constexpr int kChunks = kStrip / 8;
    const Global<const uint16_t> from(arguments_.second_weights + strip);
    for (int i = Opaque(Thread()); i < kWidth * kChunks; i += Tiles::kThreads) {
      const int row = i / kChunks, chunk = i % kChunks;
      CopyAsync(SecondWeights() + SecondPlace(row, chunk, OutputOrder::Swizzle(row)),
                from + (row * arguments_.hidden + chunk * 8));
    }
    CommitCopies();
  }
  // Returns the offset of a chunk of the second weights. Two rows of 64 bytes together span all banks.
  static VITRINE_DEVICE int SecondPlace(int row, int chunk, int swizzle) {
    return row * kStrip + (chunk ^ (kStrip == 64 ? swizzle : swizzle / 2)) * 8;
  }

  // Computes hidden = activation(x W1^T + b1) for kPart units of a strip, as left operands.
  VITRINE_DEVICE void MultiplyFirst(int strip, int part, uint32_t (&hidden)[kBlocks][kStrip / 16][4]) const {
    const int lane = Opaque(Lane());
    const Shared<uint16_t> x = x_.data + ((row_of_warp() + lane % 16) * x_.stride + lane / 16 * 8);
    const Shared<uint16_t> w = FirstWeights() + (part + lane % 8 + lane / 16 * 8) * kWidth;
    Hidden sums = {};
    VITRINE_UNROLL_BY(4)
    for (int step = 0; step < kWidth / 16; ++step) {
      uint32_t left[kBlocks][4];
      VITRINE_UNROLL
      for (int i = 0; i < kBlocks; ++i) LoadMatrices(left[i], x + (i * 16 * x_.stride + step * 16));
      const int at = ((step * 2 + lane / 8 % 2) ^ lane % 8) * 8;
      VITRINE_UNROLL
      for (int pair = 0; pair < kPart / 16; ++pair) {
        uint32_t right[4];
        LoadMatrices(right, w + (pair * 16 * kWidth + at));
        VITRINE_UNROLL
        for (int i = 0; i < kBlocks; ++i) {
          Multiply(sums[i][2 * pair], left[i], {right[0], right[1]});
          Multiply(sums[i][2 * pair + 1], left[i], {right[2], right[3]});
        }
      }
    }
    AddBias(strip + part + lane % 4 * 2, sums);
    ActivateAll<kBlocks * kPart / 2>(gelu_, arguments_.activation, [&](int i) -> float& {
      return sums[i / (kPart / 2)][i / 4 % (kPart / 8)][i % 4];
    });
    VITRINE_UNROLL
    for (int i = 0; i < kBlocks; ++i) {
      VITRINE_UNROLL
      for (int eight = 0; eight < kPart / 8; ++eight) {
        const float(&of)[4] = sums[i][eight];
        uint32_t(&to)[4] = hidden[i][part / 16 + eight / 2];
        to[eight % 2 * 2] = PackBf16(of[0], of[1]);
        to[eight % 2 * 2 + 1] = PackBf16(of[2], of[3]);
      }
    }
  }
  VITRINE_DEVICE void AddBias(int unit, Hidden& sums) const {
    const Global<const float> bias = Global<const float>(arguments_.first_bias) + unit;
    VITRINE_UNROLL
    for (int eight = 0; eight < kPart / 8; ++eight) {
      const Float2 of = ViewAs<const Float2>(bias)[4 * eight];
      VITRINE_UNROLL
      for (int i = 0; i < 4 * kBlocks; ++i) sums[i / 4][eight][i % 4] += of.v[i % 2];
    }
  }
  VITRINE_DEVICE void MultiplySecond(const uint32_t (&hidden)[kBlocks][kStrip / 16][4], Sums& sums) const {
    const int lane = Opaque(Lane()), row = OutputOrder::Row(lane);
    VITRINE_UNROLL
    for (int step = 0; step < kStrip / 16; ++step) {
      const Shared<uint16_t> w = SecondWeights() + SecondPlace(row, step * 2 + lane / 8 % 2, lane % 8);
      VITRINE_UNROLL
      for (int pair = 0; pair < kWidth / 16; ++pair) {
        uint32_t right[4];
        LoadMatrices(right, w + pair * 16 * kStrip);
        VITRINE_UNROLL
        for (int i = 0; i < kBlocks; ++i) {
          Multiply(sums[i][2 * pair], hidden[i][step], {right[0], right[1]});
          Multiply(sums[i][2 * pair + 1], hidden[i][step], {right[2], right[3]});
        }
      }
    }
  }

  VITRINE_DEVICE void Finish(int first, const Sums& sums) const {
    const int lane = Opaque(Lane()), row = first + row_of_warp() + lane / 4;
    VITRINE_UNROLL
    for (int pair = 0; pair < kWidth / 16; ++pair) {
      const int column = pair * 16 + lane % 4 * 4;
      const Float4 bias = ViewAs<const Float4>(Global<const float>(arguments_.second_bias) + column)[0];
      Outputs<2 * kBlocks> outputs;
      VITRINE_UNROLL
      for (int i = 0; i < 8 * kBlocks; ++i) {
        const int r = i / 4, of_sums = r % 2 * 2 + i % 2;  // rows g and g + 8 of two products
        outputs.v[r][i % 4] = sums[r / 2][2 * pair + i % 4 / 2][of_sums] + bias.v[i % 4];
      }
      outputs.Store(arguments_.residual, arguments_.y, row, rows_, column);
    }
  }

  const PerceptronArguments& arguments_;
  const int rows_;  // number of rows in the batch
  const RowTile x_;
  const GeluTable gelu_;
};

#define VITRINE_PERCEPTRON(width)                                                                                \
  VITRINE_BOUNDED_KERNEL(vitrine_fast_perceptron_##width, PerceptronArguments, PerceptronTiles<width>::kThreads, \
                         PerceptronTiles<width>::kBlocksOfSm) {                                                  \
    PerceptronBlock<width>(arguments).Run();                                                                     \
  }
VITRINE_PERCEPTRON(128)
VITRINE_PERCEPTRON(192)
VITRINE_PERCEPTRON(256)

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_PERCEPTRON_CUH_
