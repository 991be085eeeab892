// SPDX-License-Identifier: Apache-2.0
// Shapes that fast kernels and the host agree on.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_SHAPES_H_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_SHAPES_H_

#include <cstdint>

namespace vitrine::cuda {

// vitrine_fast_mean_of_cells: cells of 32 columns in shared memory.
inline constexpr int kMeanCells = 128;
inline constexpr int kMeanSharedBytes = kMeanCells * 32 * static_cast<int>(sizeof(float));

// Depthwise convolutions: side of a tile of a grid, channels of a block, and its threads.
inline constexpr int kTileSide = 14;
inline constexpr int kTileChannels = 16;
inline constexpr int kTileThreads = 128;
// Bytes of a tile with a border, and of the table of GELU before it.
constexpr int TileBytes(int border) {
  return (kTileSide + 2 * border) * (kTileSide + 2 * border) * kTileChannels * static_cast<int>(sizeof(float));
}
inline constexpr int kGeluTableBytes = 384;
inline constexpr int kDepthwiseSharedBytes = kGeluTableBytes + TileBytes(1);
inline constexpr int kLocalSharedBytes = kGeluTableBytes + TileBytes(2) + TileBytes(1);

// Convolutions of a stem: places that a warp computes, numbers of their neighbourhoods that a step multiplies.
inline constexpr int kPlacesOfTile = 32;
inline constexpr int kStepInputs = 32;
// A number of a neighbourhood: its row and column there, and its channel. Row kNoTapRow is in no map.
inline constexpr int kNoTapRow = 15;
constexpr uint32_t TapOf(int row, int column, int channel) {
  return static_cast<uint32_t>(row) | static_cast<uint32_t>(column) << 4 | static_cast<uint32_t>(channel) << 8;
}
constexpr int TapRow(uint32_t tap) {
  return static_cast<int>(tap & 15);
}
constexpr int TapColumn(uint32_t tap) {
  return static_cast<int>(tap >> 4 & 15);
}
constexpr int TapChannel(uint32_t tap) {
  return static_cast<int>(tap >> 8);
}

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_SHAPES_H_
