// SPDX-License-Identifier: Apache-2.0
// Shapes that fast kernels and the host agree on.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_SHAPES_H_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_SHAPES_H_

#include <cstdint>

namespace vitrine::cuda {

// Depthwise convolutions: side of a tile of a grid, channels per block, and threads per block.
inline constexpr int kTileSide = 14;
inline constexpr int kTileChannels = 16;
inline constexpr int kTileThreads = 128;
// Returns the size of a tile with a border, in bytes.
constexpr int TileBytes(int border) {
  return (kTileSide + 2 * border) * (kTileSide + 2 * border) * kTileChannels * static_cast<int>(sizeof(float));
}
inline constexpr int kGeluTableBytes = 384;
inline constexpr int kDepthwiseSharedBytes = kGeluTableBytes + TileBytes(1);
inline constexpr int kLocalSharedBytes = kGeluTableBytes + TileBytes(2) + TileBytes(1);

// Convolutions of a stem: positions per warp, and values of their neighbourhoods per step.
inline constexpr int kPlacesOfTile = 32;
inline constexpr int kStepInputs = 32;
// A tap is the row, column and channel of a value in a neighbourhood, packed into one word. Row kNoTapRow marks a tap
// that pads a step.
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
