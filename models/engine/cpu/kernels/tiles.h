// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_KERNELS_TILES_H_
#define VITRINE_MODELS_ENGINE_CPU_KERNELS_TILES_H_

#include <cstdint>

// Divides a product into register tiles. The templates are for files that are compiled for one instruction set; see
// common/simd/gelu.h.
namespace vitrine::engine {

// Rows and vectors of a tile. The sums, weights and input of a tile occupy all registers except one.
template <class V>
inline constexpr int kTileRows = V::kRegisters == 32 ? 14 : 6;
inline constexpr int kTileVectors = 2;

// Prefetch distance for weights, in inner-loop steps. A group of images reads all weights once, and the weights of most
// models do not fit the L2 cache. On a Zen 5, 64 and 128 were the fastest of 8, 16, 32, 64, 128 and 256.
inline constexpr int64_t kPrefetchSteps = 64;
inline constexpr int64_t kLineBytes = 64;  // bytes per prefetch

// Reads the rows of a tile's left operand. Each pointer covers five rows, at distances of 0 to 4 strides. An x86
// address can add 1, 2 or 4 times a register to a pointer; one register has the stride, and a second one has three
// strides. With a single pointer, the offsets of 12 or more rows would need more registers than x86 has. The inner loop
// would load them from the stack or, slower, from vector registers.
template <int kRows, class T>
class RowPointers {
 public:
  [[gnu::always_inline]] RowPointers(const T* first, int64_t stride) : stride_(stride) {
#pragma GCC unroll 4
    for (int i = 0; i < kPointers; ++i) {
      pointers_[i] = first + i * kRowsOfPointer * stride;
      asm("" : "+r"(pointers_[i]));  // otherwise the compiler would derive all pointers from one pointer
    }
  }

  [[gnu::always_inline]] const T* Row(int row) const {
    return pointers_[row / kRowsOfPointer] + row % kRowsOfPointer * stride_;
  }

  [[gnu::always_inline]] void Advance(int64_t count) {
#pragma GCC unroll 4
    for (int i = 0; i < kPointers; ++i) pointers_[i] += count;
  }

 private:
  static constexpr int kRowsOfPointer = 5;
  static constexpr int kPointers = (kRows + kRowsOfPointer - 1) / kRowsOfPointer;

  const int64_t stride_;
  const T* pointers_[kPointers];
};

// Returns Tiles::kOf<rows, kVectors> for 1 to kMostRows rows.
template <class V, class Tiles, int kVectors, int kMostRows = kTileRows<V>>
typename Tiles::Function TileOfRows(int64_t rows) {
  if constexpr (kMostRows > 1) {
    if (rows != kMostRows) return TileOfRows<V, Tiles, kVectors, kMostRows - 1>(rows);
  }
  return Tiles::template kOf<kMostRows, kVectors>;
}

// Calls run(tile, row, column) panel by panel. Two tiles of a panel differ in size by at most one row.
template <class V, class Tiles, class Run>
[[gnu::always_inline]] inline void ForTiles(int64_t rows, int64_t columns, Run run) {
  const int64_t tiles = (rows + kTileRows<V> - 1) / kTileRows<V>;
  if (tiles == 0) return;
  const int64_t least = rows / tiles, longer = rows % tiles;
  for (int64_t column = 0; column < columns; column += kTileVectors * V::kLanes) {
    const bool narrow = columns - column <= V::kLanes;
    const auto tile = narrow ? TileOfRows<V, Tiles, 1>(least) : TileOfRows<V, Tiles, 2>(least);
    const auto longer_tile = narrow ? TileOfRows<V, Tiles, 1>(least + 1) : TileOfRows<V, Tiles, 2>(least + 1);
    int64_t row = 0;
    for (int64_t i = 0; i < longer; ++i, row += least + 1) run(longer_tile, row, column);
    for (int64_t i = longer; i < tiles; ++i, row += least) run(tile, row, column);
  }
}

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_KERNELS_TILES_H_
