// SPDX-License-Identifier: Apache-2.0
// Tiles of the fast kernels of linear layers, for the kernels and for the host that launches them.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_LINEAR_TILES_H_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_LINEAR_TILES_H_

namespace vitrine::cuda {

inline constexpr int kWeightRows = 64;  // weights and biases are padded to a multiple of this many outputs
inline constexpr int kGeluBytes = 384;  // size of GeluTable, at the start of shared memory
inline constexpr int kRowPadding = 16;  // padding after a row in shared memory, so that rows start in different banks

// Tiles of a linear layer in bf16 or int8.
struct LinearTiles {
  static constexpr int kThreads = 256, kWarps = 8;
  static constexpr int kColumns = 128;     // outputs
  static constexpr int kChunkBytes = 128;  // bytes of a row of x, and of an output's weights, per stage
  static constexpr int kStageBytes = kColumns * kChunkBytes;
  static constexpr int kWeights = kGeluBytes, kX = kWeights + 2 * kStageBytes;
  static constexpr int kLong = 512, kLongest = 1024;  // bytes per row

  // Returns the number of rows of a tile. If rows are longer than kLong, only 64 of them fit in shared memory. If
  // `loaded` is true (a bf16 layer without a norm), tiles also have 64 rows, so that more loads are in flight. Tiles of
  // rows longer than kLongest have 128 rows, because they are loaded in panels of kLong bytes.
  static constexpr int Rows(int row_bytes, bool loaded) {
    return row_bytes <= kLongest && (row_bytes > kLong || loaded) ? 64 : 128;
  }
  static constexpr int PanelBytes(int row_bytes) {
    return row_bytes > kLongest ? kLong : (row_bytes + kChunkBytes - 1) / kChunkBytes * kChunkBytes;
  }
  static constexpr int SharedBytes(int row_bytes, bool loaded) {
    return kX + Rows(row_bytes, loaded) * (PanelBytes(row_bytes) + kRowPadding);
  }
};
static_assert(LinearTiles::SharedBytes(LinearTiles::kLong, false) <= 99 << 10);
static_assert(LinearTiles::SharedBytes(LinearTiles::kLongest, false) <= 99 << 10);

// Tiles of a perceptron with kWidth inputs and outputs: 16 rows per warp, and strips of kStrip hidden units. An SM
// holds two blocks of 6 warps. For the widest rows, whose sums fill the registers, it holds one block of 8 warps.
template <int kWidth>
struct PerceptronTiles {
  static constexpr int kWarps = kWidth <= 192 ? 6 : 8;
  static constexpr int kStrip = kWidth <= 192 ? 64 : 32;
  static constexpr int kThreads = 32 * kWarps, kRows = 16 * kWarps;
  static constexpr int kBlocksOfSm = kWidth <= 192 ? 2 : 1;  // number of blocks per SM that the registers allow
  static constexpr int kStageBytes = kWidth * kStrip * 2;
  static constexpr int kFirst = kGeluBytes, kSecond = kFirst + kStageBytes, kX = kSecond + kStageBytes;
  static constexpr int kSharedBytes = kX + kRows * (2 * kWidth + kRowPadding);
  static_assert(kSharedBytes <= 99 << 10);
};

// Tiles of a linear layer in fp32.
struct LinearFp32Tiles {
  static constexpr int kThreads = 128, kRows = 64, kColumns = 64;
  static constexpr int kStep = 32;            // values of k per stage
  static constexpr int kXStride = kStep + 4;  // floats; 4 rows start in different banks
  static constexpr int kXBytes = kRows * kXStride * 4, kStageBytes = kXBytes + kStep * kColumns * 4;
  static constexpr int kSharedBytes = 2 * kStageBytes;
};

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_LINEAR_TILES_H_
