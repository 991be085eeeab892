// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_KERNELS_AMX_GEMM_KERNEL_H_
#define VITRINE_MODELS_ENGINE_CPU_KERNELS_AMX_GEMM_KERNEL_H_

#include <immintrin.h>

#include "models/engine/cpu/kernels/narrow_attention_kernel.h"

// Implements NarrowGemmCall with AMX. AMX has eight tile registers with 16 rows of 64 bytes each; one instruction
// multiplies two tiles and adds the product to a third. The panels have the same layout as for the other kernels.
// Include this header only in the file built for AMX. N is the AVX-512 type that narrow_gemm_kernel.h requires; for
// bf16, N also has Turn (narrow_attention_kernel.h).
//
// The inner dimension k is cut into equal tiles. The cut depends only on k, so the order of additions is the same for
// every row. For bf16, the products at even and at odd positions of a tile are summed separately.
namespace vitrine::engine {

inline constexpr int64_t kAmxRows = 16;   // rows per tile; also the maximum number of groups per tile row
inline constexpr int64_t kAmxBytes = 64;  // bytes per tile row
// Maximum number of row tiles in MultiplyTiles. Two weight tiles and four sum tiles fill the other registers.
inline constexpr int64_t kRowTiles = 2;

// Operand of the instruction LDTILECFG, which configures the tile registers.
struct alignas(64) AmxShapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Division of one part of a row (NarrowGemmCall) into tiles with equal numbers of 4-byte groups (narrow_kernels.h). If
// the groups do not divide evenly, the last tile overlaps the previous one, and the left operand has zeros for groups
// that are already summed.
struct AmxCut {
  int64_t groups;    // groups per tile
  int64_t tiles;     // tiles per part
  int64_t repeated;  // groups of the last tile that are zeroed
};

[[gnu::always_inline]] inline AmxCut CutOf(int64_t groups) {
  const int64_t tiles = (groups + kAmxRows - 1) / kAmxRows;
  const int64_t of_tile = (groups + tiles - 1) / tiles;
  return {of_tile, tiles, tiles * of_tile - groups};
}

// Configures the tile registers: 0 to 3 for sums (0 and 1 for the first row tile), 4 and 5 for row tiles of the left
// matrix, 6 and 7 for weights.
[[gnu::always_inline]] inline void ShapeTiles(int64_t rows, int64_t groups) {
  AmxShapes shapes;
  for (int i = 0; i < 8; ++i) {
    shapes.row_bytes[i] = static_cast<uint16_t>(i == 4 || i == 5 ? groups * kGroupBytes : kAmxBytes);
    shapes.rows[i] = static_cast<uint8_t>(i >= 6 ? groups : rows);
  }
  asm volatile("" : : "r"(&shapes) : "memory");  // the compiler assumes that _tile_loadconfig reads only eight bytes
  _tile_loadconfig(&shapes);
}

// Copies the rows of the left matrix for one tile. This is needed if the tile cannot be loaded directly: if it begins
// with `repeated` zero groups, or if its groups are not contiguous.
template <class N>
[[gnu::always_inline]] inline void CopyLeft(const NarrowGemmCall& call, const std::byte* from, int64_t rows,
                                            int64_t groups, int64_t repeated, std::byte* to) {
  if (call.group_stride == kGroupBytes) {
    const auto kept = static_cast<__mmask16>((1u << groups) - (1u << repeated));
    for (int64_t r = 0; r < rows; ++r) {
      _mm512_store_si512(to + r * kAmxBytes, _mm512_maskz_loadu_epi32(kept, from + r * call.a_stride));
    }
    return;
  }
  if constexpr (N::kNumbers == 2) {
    alignas(64) std::byte columns[kAmxRows * kAmxBytes];
    for (int64_t g = 0; g < kAmxRows; ++g) {
      const bool counts = g >= repeated && g < groups;
      N::Store(columns + g * kAmxBytes, counts ? N::Load(from + g * call.group_stride) : _mm512_setzero_si512());
    }
    N::Turn(columns, rows, to, kAmxBytes);
  }
}

// Multiplies kTiles (1 or 2) tiles of rows, which begin at row[0] and row[1], by a panel of kVectors (1 or 2) vectors.
// Writes the sums row by row.
template <class N, int kTiles, int kVectors>
[[gnu::noinline]] void MultiplyTiles(const NarrowGemmCall& call, const AmxCut& cut, int64_t rows, const int64_t* row,
                                     const std::byte* weights, typename N::Sums* sums) {
  constexpr int64_t kWeightBytes = kVectors * kVectorBytes<N>;  // per group
  alignas(64) std::byte copied[kRowTiles][kAmxRows * kAmxBytes];
  _tile_zero(0);
  if constexpr (kVectors == 2) _tile_zero(1);
  if constexpr (kTiles == 2) _tile_zero(2);
  if constexpr (kTiles == 2 && kVectors == 2) _tile_zero(3);
  for (int64_t part = 0; part < call.parts; ++part) {
    for (int64_t tile = 0; tile < cut.tiles; ++tile) {
      const int64_t repeated = tile + 1 < cut.tiles ? 0 : cut.repeated;
      const int64_t group = tile * cut.groups - repeated;
      const std::byte* left[kRowTiles];
      int64_t stride = call.a_stride;
      for (int t = 0; t < kTiles; ++t) {
        left[t] = call.a + row[t] * call.a_stride + part * call.part_stride + group * call.group_stride;
      }
      if (repeated > 0 || call.group_stride != kGroupBytes) {
        stride = kAmxBytes;
        for (int t = 0; t < kTiles; ++t) {
          CopyLeft<N>(call, left[t], rows, cut.groups, repeated, copied[t]);
          left[t] = copied[t];
        }
        asm volatile("" ::: "memory");  // completes the writes above before the tile loads
      }
      const std::byte* const right = weights + (part * call.groups + group) * kWeightBytes;
      _tile_loadd(6, right, kWeightBytes);
      if constexpr (kVectors == 2) _tile_loadd(7, right + kVectorBytes<N>, kWeightBytes);
      _tile_loadd(4, left[0], stride);
      if constexpr (kTiles == 2) _tile_loadd(5, left[1], stride);
      if constexpr (N::kNumbers == 2) {
        _tile_dpbf16ps(0, 4, 6);
        if constexpr (kVectors == 2) _tile_dpbf16ps(1, 4, 7);
        if constexpr (kTiles == 2) _tile_dpbf16ps(2, 5, 6);
        if constexpr (kTiles == 2 && kVectors == 2) _tile_dpbf16ps(3, 5, 7);
      } else {
        _tile_dpbusd(0, 4, 6);
        if constexpr (kVectors == 2) _tile_dpbusd(1, 4, 7);
        if constexpr (kTiles == 2) _tile_dpbusd(2, 5, 6);
        if constexpr (kTiles == 2 && kVectors == 2) _tile_dpbusd(3, 5, 7);
      }
    }
  }
  constexpr int64_t kStride = kVectors * kAmxBytes;
  typename N::Sums* const second = sums + kAmxRows * kVectors;
  _tile_stored(0, sums, kStride);
  if constexpr (kVectors == 2) _tile_stored(1, sums + 1, kStride);
  if constexpr (kTiles == 2) _tile_stored(2, second, kStride);
  if constexpr (kTiles == 2 && kVectors == 2) _tile_stored(3, second + 1, kStride);
}

// Multiplies all rows by one panel. If less than a full tile of rows remains, the last tile overlaps the previous one,
// and only the remaining rows are written.
template <class N, int kVectors>
[[gnu::always_inline]] inline void RunAmxPanel(const NarrowGemmCall& call, const AmxCut& cut, int64_t tile_rows,
                                               int64_t column, const std::byte* weights) {
  typename N::Sums sums[kRowTiles * kAmxRows * kVectors];
  for (int64_t first = 0; first < call.rows; first += kRowTiles * kAmxRows) {
    const int64_t left = call.rows - first;
    int64_t row[kRowTiles];
    for (int t = 0; t < kRowTiles; ++t) row[t] = Fewer(first + t * kAmxRows, call.rows - tile_rows);
    if (left > kAmxRows) {
      MultiplyTiles<N, 2, kVectors>(call, cut, tile_rows, row, weights, sums);
    } else {
      MultiplyTiles<N, 1, kVectors>(call, cut, tile_rows, row, weights, sums);
    }
    for (int t = 0; t < kRowTiles; ++t) {
      const int64_t begin = first + t * kAmxRows, rows = Fewer(kAmxRows, call.rows - begin);
      if (rows <= 0) break;
      FinishTile<N, kVectors>(call, begin, rows, column, sums + (t * kAmxRows + begin - row[t]) * kVectors);
    }
  }
}

template <class N>
void RunAmxGemm(const NarrowGemmCall& call) {
  if (call.rows == 0) return;
  const AmxCut cut = CutOf(call.groups);
  const int64_t tile_rows = Fewer(call.rows, kAmxRows);
  ShapeTiles(tile_rows, cut.groups);
  for (int64_t column = 0; column < call.columns; column += kTileVectors * N::V::kLanes) {
    const std::byte* const weights = call.panels + column * call.parts * call.groups * kGroupBytes;
    if (call.columns - column <= N::V::kLanes) {
      RunAmxPanel<N, 1>(call, cut, tile_rows, column, weights);
    } else {
      RunAmxPanel<N, 2>(call, cut, tile_rows, column, weights);
    }
  }
  _tile_release();
}

// Implements RunMultiplyAdds with tiles; a round is one instruction per sum register.
template <class N>
float RunAmxMultiplyAdds(int64_t rounds) {
  alignas(64) std::byte numbers[kAmxRows * kAmxBytes] = {};
  ShapeTiles(kAmxRows, kAmxRows);
  asm volatile("" ::: "memory");
  _tile_loadd(4, numbers, kAmxBytes);
  _tile_loadd(5, numbers, kAmxBytes);
  _tile_loadd(6, numbers, kAmxBytes);
  _tile_loadd(7, numbers, kAmxBytes);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t round = 0; round < rounds; ++round) {
    if constexpr (N::kNumbers == 2) {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    } else {
      _tile_dpbusd(0, 4, 6);
      _tile_dpbusd(1, 4, 7);
      _tile_dpbusd(2, 5, 6);
      _tile_dpbusd(3, 5, 7);
    }
  }
  _tile_stored(0, numbers, kAmxBytes);
  _tile_release();
  return static_cast<float>(numbers[0]);
}

template <class N>
constexpr NarrowKernels AmxTableOf(NarrowKernels table) {
  table.gemm = RunAmxGemm<N>;
  table.multiply_adds_of_round = 4 * kAmxRows * kAmxRows * kAmxRows * N::kNumbers;
  table.multiply_adds = RunAmxMultiplyAdds<N>;
  return table;
}

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_KERNELS_AMX_GEMM_KERNEL_H_
