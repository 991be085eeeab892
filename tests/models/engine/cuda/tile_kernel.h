// SPDX-License-Identifier: Apache-2.0
// A kernel with everything that fast kernels use, and with faults that can be planted in it.
#ifndef VITRINE_TESTS_MODELS_ENGINE_CUDA_TILE_KERNEL_H_
#define VITRINE_TESTS_MODELS_ENGINE_CUDA_TILE_KERNEL_H_

#include "models/engine/cuda/device/device.h"

namespace vitrine::cuda {

enum class Planted {
  kNone,
  kNoBarrierBehindWait,
  kNoBarrierBeforeReuse,
  kNoSyncWarp,
  kNoWait,
  kStrayIndex,
  kWrongLane,
  kSwizzleOffByOne,
  kNoSwizzle,  // right results, but bank conflicts
  kBarrierInBranch,
  kMisalignedCopy,
  kTwoBlocksWriteOneRow,
};

struct TileArguments {
  const uint16_t* a;  // [rows, kTileInner] bf16
  const uint16_t* w;  // [kTileColumns, kTileInner] bf16
  float* y;           // [rows, kTileColumns]
  float* row_sums;    // [rows]
  int rows;
};

inline constexpr int kTileRows = 64, kTileColumns = 16, kTileInner = 128, kTileStep = 64, kTileThreads = 128;
inline constexpr int kSums = (kTileRows + kTileColumns) * kTileStep * 2;           // bytes before the warps' sums
inline constexpr int kTileShared = kSums + kTileThreads * 2 * int{sizeof(float)};  // two rows a lane

// Returns the index of a number in a tile whose rows are 8 chunks of 8 numbers; swizzled, so that the same chunks of 8
// rows lie in different banks.
template <Planted kPlanted>
VITRINE_DEVICE int Swizzled(int row, int chunk) {
  return row * kTileStep + (kPlanted == Planted::kNoSwizzle ? chunk : chunk ^ row % 8) * 8;
}

// y = a w^T and the sums of its rows: a block for 64 rows, a warp for 16 of them.
template <Planted kPlanted>
VITRINE_DEVICE void TileKernel(const TileArguments& arguments) {
  const int warp = Thread() / kWarp, lane = Lane(), first_row = Block() * kTileRows;
  const Shared<uint16_t> a = SharedMemory<uint16_t>(0);
  const Shared<uint16_t> w = a + kTileRows * kTileStep;
  const Global<float> y(arguments.y), row_sums(arguments.row_sums);
  const Shared<float> sums = SharedMemory<float>(kSums) + warp * 2 * kWarp;
  float d[2][4] = {};
  for (int step = 0; step < kTileInner; step += kTileStep) {
    for (int i = Thread(); i < (kTileRows + kTileColumns) * 8; i += Threads()) {
      const bool left = i < kTileRows * 8;
      const int row = left ? i / 8 : i / 8 - kTileRows, chunk = i % 8, to = Swizzled<kPlanted>(row, chunk);
      const bool valid = !left || first_row + row < arguments.rows || kPlanted == Planted::kStrayIndex;
      const Global<const uint16_t> from =
          Global<const uint16_t>(left ? arguments.a + first_row * kTileInner : arguments.w);
      const int shift = kPlanted == Planted::kMisalignedCopy && i == 77 ? 4 : 0;
      CopyAsync((left ? a : w) + to, from + (row * kTileInner + step + chunk * 8 + shift), valid);
    }
    CommitCopies();
    if (kPlanted != Planted::kNoWait) WaitCopies<0>();
    if (kPlanted != Planted::kNoBarrierBehindWait) SyncBlock();
    for (int k = 0; k < kTileStep; k += 16) {
      const int of_a = warp * 16 + lane % 16, of_w = lane % 8 + lane / 16 * 8;
      const int skew = kPlanted == Planted::kSwizzleOffByOne ? 1 : 0;
      uint32_t left[4], right[4];
      LoadMatrices(left, a + Swizzled<kPlanted>(of_a, (k / 8 + lane / 16 + skew) % 8));
      LoadMatrices(right, w + Swizzled<kPlanted>(of_w, k / 8 + lane / 8 % 2));
      for (int n = 0; n < 2; ++n) MultiplyBf16(d[n], left, {right[2 * n], right[2 * n + 1]});
    }
    if (kPlanted != Planted::kNoBarrierBeforeReuse) SyncBlock();
  }
  const int g = kPlanted == Planted::kWrongLane ? lane % 8 : lane / 4;
  const int t = kPlanted == Planted::kWrongLane ? lane / 8 : lane % 4;
  for (int half = 0; half < 2; ++half) {
    const int row = first_row + warp * 16 + g + 8 * half;
    float sum = 0;
    for (int n = 0; n < 2; ++n) {
      for (int i = 0; i < 2; ++i) {
        const float value = d[n][2 * half + i];
        sum += value;
        const int to = kPlanted == Planted::kTwoBlocksWriteOneRow ? row % kTileRows : row;
        if (row < arguments.rows) y[to * kTileColumns + n * 8 + 2 * t + i] = value;
      }
    }
    sums[half * kWarp + lane] = sum;
  }
  if (kPlanted != Planted::kNoSyncWarp) SyncWarp();
  if (kPlanted == Planted::kBarrierInBranch && warp != 2) SyncBlock();
  if (lane >= 16) return;
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += sums[lane / 8 * kWarp + lane % 8 * 4 + i];
  const int row = first_row + warp * 16 + lane;
  if (row < arguments.rows) row_sums[row] = sum;
}

}  // namespace vitrine::cuda

#endif  // VITRINE_TESTS_MODELS_ENGINE_CUDA_TILE_KERNEL_H_
