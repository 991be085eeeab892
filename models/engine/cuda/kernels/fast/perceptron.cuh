// SPDX-License-Identifier: Apache-2.0
// Perceptrons on tensor cores in bf16: y = residual + activation(n(x) W1^T + b1) W2^T + b2, with as many outputs as
// inputs.
//
// A block computes 16 rows per warp. It loads and normalizes the rows once, as in a linear layer. Then it processes the
// hidden units in strips of kStrip. The weights of one product are copied while the other product is computed. The sums
// of a strip are activated and rounded. They are then operands of the second product in the same warp, because lanes
// hold a product's sums in the layout of a left operand. Hidden rows are therefore never in memory, and the sums of the
// outputs stay in registers.
//
//   width   tile of rows  threads  shared memory  sums in registers  blocks per SM
//   128           96         192        59 kB             64                2
//   192           96         192        88 kB             96                2
//   256          128         256       101 kB            128                1
//
// Global memory: x is read once, the residual once (from L2 if it is x), and y is written once; the weights come from
// L2 for each tile. Traffic per image and layer (XCiT-N12, 224 x 224): activations 200 to 300 kB, weights 540 kB, for
// 51 MFLOP. The kernel is limited by tensor cores and by shared memory: each mma reads 256 to 320 bytes.
//
// Each sum is one chain of mma instructions over k in ascending order, so the bits of a row depend only on that row.
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
  using Loads = RowLoads<Tiles::kThreads>;
  static constexpr int kStrip = Tiles::kStrip;
  using Sums = float[kWidth / 8][4];
  using Hidden = uint32_t[kStrip / 16][4];  // left operands of the second product

  VITRINE_DEVICE int row_of_warp() const { return Thread() / kWarp * 16; }
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
      float first_sums[kStrip / 8][4];
      BeginFirst(strip, first_sums);
      WaitCopies<0>();
      SyncBlock();  // the first weights have arrived, and all threads have finished with the second weights
      CopySecond(strip);
      Hidden hidden;
      if (has_rows) MultiplyFirst(first_sums, hidden);
      WaitCopies<0>();
      SyncBlock();
      if (strip + kStrip < arguments_.hidden) CopyFirst(strip + kStrip);
      if (has_rows) MultiplySecond(hidden, sums);
    }
    if (has_rows) Finish(first, sums);
  }

  VITRINE_DEVICE void Load(int first) const {
    if (!arguments_.normalizes) {
      Loads::LoadRounded(arguments_.x, Global<const RowStatistics>(nullptr), first, rows_, 0, x_);
    } else {
      Loads::template LoadNormalized<kWidth / kWarp, true>(arguments_.x, arguments_.epsilon, first, rows_, x_);
    }
  }

  // Copies [kStrip, kWidth] weights of the first product. Permutes the 16-byte chunks of each row, so that chunk i of 8
  // rows is in 8 different banks.
  VITRINE_DEVICE void CopyFirst(int strip) const {
    constexpr int kChunks = kWidth / 8, kStep = Tiles::kThreads / kChunks;  // the block copies kStep rows at once
    static_assert(Tiles::kThreads % kChunks == 0 && kStep % 4 == 0);  // so a step changes at most one bit of row % 8
    const int thread = Opaque(Thread()), row = thread / kChunks, chunk = thread % kChunks ^ row % 8;
    const Shared<uint16_t> to = FirstWeights() + row * kWidth;
    const Global<const uint16_t> from =
        Global<const uint16_t>(arguments_.first_weights) + (int64_t{strip} * kWidth + thread * 8);
    VITRINE_UNROLL
    for (int step = 0; step < kStrip; step += kStep) {
      if (kStrip % kStep != 0 && row + step >= kStrip) break;
      CopyAsync(to + (step * kWidth + (chunk ^ step % 8) * 8), from + step * kWidth);
    }
    CommitCopies();
  }
  // Copies [kWidth, kStrip] weights of the second product, in OutputOrder.
  VITRINE_DEVICE void CopySecond(int strip) const {
    constexpr int kChunks = kStrip / 8, kStep = Tiles::kThreads / kChunks;
    static_assert(Tiles::kThreads % kChunks == 0 && kStep % 8 == 0);  // a step changes at most one bit of row / 4 % 4
    const int thread = Opaque(Thread()), row = thread / kChunks, chunk = thread % kChunks;
    const int swizzle = OutputOrder::Swizzle(row);
    Global<const uint16_t> from =
        Global<const uint16_t>(arguments_.second_weights) + (int64_t{row} * arguments_.hidden + (strip + chunk * 8));
    VITRINE_UNROLL
    for (int step = 0; step < kWidth; step += kStep) {
      if (kWidth % kStep != 0 && row + step >= kWidth) break;
      CopyAsync(SecondWeights() + SecondPlace(row + step, chunk, swizzle ^ OutputOrder::Swizzle(step)), from);
      from = from + int64_t{kStep} * arguments_.hidden;
    }
    CommitCopies();
  }
  // Returns the offset of a chunk of the second weights. Rows have 128 or 64 bytes. Because two rows of 64 bytes
  // together span all banks, their chunks are permuted by `swizzle` / 2.
  static VITRINE_DEVICE int SecondPlace(int row, int chunk, int swizzle) {
    return row * kStrip + (chunk ^ (kStrip == 64 ? swizzle : swizzle / 2)) * 8;
  }

  // Sets the sums to the biases.
  VITRINE_DEVICE void BeginFirst(int strip, float (&sums)[kStrip / 8][4]) const {
    const Global<const float> bias = Global<const float>(arguments_.first_bias) + (strip + Opaque(Lane()) % 4 * 2);
    VITRINE_UNROLL
    for (int eight = 0; eight < kStrip / 8; ++eight) {
      const Float2 of = ViewAs<const Float2>(bias)[4 * eight];
      VITRINE_UNROLL
      for (int i = 0; i < 4; ++i) sums[eight][i] = of.v[i % 2];
    }
  }

  // Computes hidden = activation(x W1^T + b1) for the units of a strip. `sums` come from BeginFirst.
  VITRINE_DEVICE void MultiplyFirst(float (&sums)[kStrip / 8][4], Hidden& hidden) const {
    const int lane = Opaque(Lane());
    const Shared<uint16_t> x = x_.data + ((row_of_warp() + lane % 16) * x_.stride + lane / 16 * 8);
    const Shared<uint16_t> w = FirstWeights() + (lane % 8 + lane / 16 * 8) * kWidth;
    VITRINE_UNROLL_BY(4)
    for (int step = 0; step < kWidth / 16; ++step) {
      uint32_t left[4];
      LoadMatrices(left, x + step * 16);
      const int at = ((step * 2 + lane / 8 % 2) ^ lane % 8) * 8;
      VITRINE_UNROLL
      for (int pair = 0; pair < kStrip / 16; ++pair) {
        uint32_t right[4];
        LoadMatrices(right, w + (pair * 16 * kWidth + at));
        Multiply(sums[2 * pair], left, {right[0], right[1]});
        Multiply(sums[2 * pair + 1], left, {right[2], right[3]});
      }
    }
    ActivateAll<kStrip / 2>(gelu_, arguments_.activation, [&](int i) -> float& { return sums[i / 4][i % 4]; });
    VITRINE_UNROLL
    for (int eight = 0; eight < kStrip / 8; ++eight) {
      const float(&of)[4] = sums[eight];
      uint32_t(&to)[4] = hidden[eight / 2];
      to[eight % 2 * 2] = PackBf16(of[0], of[1]);
      to[eight % 2 * 2 + 1] = PackBf16(of[2], of[3]);
    }
  }
  VITRINE_DEVICE void MultiplySecond(const Hidden& hidden, Sums& sums) const {
    const int lane = Opaque(Lane()), row = OutputOrder::Row(lane);
    VITRINE_UNROLL
    for (int step = 0; step < kStrip / 16; ++step) {
      const Shared<uint16_t> w = SecondWeights() + SecondPlace(row, step * 2 + lane / 8 % 2, lane % 8);
      VITRINE_UNROLL
      for (int pair = 0; pair < kWidth / 16; ++pair) {
        uint32_t right[4];
        LoadMatrices(right, w + pair * 16 * kStrip);
        Multiply(sums[2 * pair], hidden[step], {right[0], right[1]});
        Multiply(sums[2 * pair + 1], hidden[step], {right[2], right[3]});
      }
    }
  }

  VITRINE_DEVICE void Finish(int first, const Sums& sums) const {
    const int lane = Opaque(Lane());
    OutputRows<2, float> rows(arguments_.residual, arguments_.y, first + row_of_warp() + lane / 4, rows_, lane % 4 * 4);
    VITRINE_UNROLL
    for (int pair = 0; pair < kWidth / 16; ++pair) {
      const Float4 bias = ViewAs<const Float4>(Global<const float>(arguments_.second_bias) + lane % 4 * 4)[4 * pair];
      Outputs<2> outputs;
      VITRINE_UNROLL
      for (int i = 0; i < 8; ++i) {  // rows g and g + 8 of two products
        outputs.v[i / 4][i % 4] = sums[2 * pair + i % 4 / 2][i / 4 * 2 + i % 2] + bias.v[i % 4];
      }
      rows.AddResidual(outputs, 16 * (pair + 1));
      rows.Store(outputs, 16 * pair);
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
