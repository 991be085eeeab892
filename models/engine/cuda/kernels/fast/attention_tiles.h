// SPDX-License-Identifier: Apache-2.0
// Tiles of the fast kernels of attention, for the kernels and for the host that launches them.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_ATTENTION_TILES_H_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_ATTENTION_TILES_H_

namespace vitrine::cuda {

// --- attention among channels: offsets in shared memory, in bytes

template <int kWidth>
struct ChannelTiles {
  static constexpr int kThreads = 128, kWarps = kThreads / 32;
  static constexpr int kProducts = 0;                                        // [warps, width / 16, width / 8, 32, 4]
  static constexpr int kSquares = kProducts + kWarps * kWidth * kWidth * 4;  // [warps, 2 width]
  static constexpr int kInverses = kSquares + kWarps * 2 * kWidth * 4;       // [2 width]
  static constexpr int kWeights = kInverses + 2 * kWidth * 4;                // [width, kWeightStride] of bf16
  // Several rows of weights are read at once, 8 bytes in each lane. The stride puts neighbouring rows into different
  // banks.
  static constexpr int kWeightStride = kWidth % 32 == 0 ? kWidth + 16 : kWidth;
  static constexpr int kSharedBytes = kWeights + kWidth * kWeightStride * 2;
};

// --- attention among tokens

template <int kWidth>
struct TokenTiles {
  static constexpr int kThreads = 256, kQueries = kThreads / 32 * 16;
  static constexpr int kKeys = 64;            // keys per stage
  static constexpr int kStride = kWidth + 8;  // numbers per row, so that 8 rows are in different banks
  // Offsets in shared memory, in bytes. Queries come first. Two stages follow, each with keys, values and the offsets
  // of the keys. Rows are bf16.
  static constexpr int kOfQueries = 0;
  static constexpr int kOfKeys = kOfQueries + kQueries * kStride * 2;
  static constexpr int kOfValues = kOfKeys + kKeys * kStride * 2;
  static constexpr int kOfOffsets = kOfValues + kKeys * kStride * 2;
  static constexpr int kStageBytes = kOfOffsets + kKeys * 4 - kOfKeys;  // distance from the first to the second stage
  static constexpr int kSharedBytes = kOfKeys + 2 * kStageBytes;
};

template <int kWidth>
struct TokenTilesFp32 {
  static constexpr int kThreads = 128, kQueries = 32;
  static constexpr int kKeys = 32;                                       // keys loaded at once
  static constexpr int kChunk = 224;                                     // number of keys whose scores are stored
  static constexpr int kStride = kWidth + 4, kScoreStride = kChunk + 1;  // floats; rows start in different banks
  // Offsets in shared memory, in bytes. The order is: scaled queries, rows of keys or of values, scores, and per query
  // the largest score and 1 / sum of the powers.
  static constexpr int kOfQueries = 0;
  static constexpr int kOfRows = kOfQueries + kQueries * kStride * 4;
  static constexpr int kOfScores = kOfRows + kKeys * kStride * 4;
  static constexpr int kOfLargest = kOfScores + kQueries * kScoreStride * 4;
  static constexpr int kOfFactors = kOfLargest + kQueries * 4;
  static constexpr int kSharedBytes = kOfFactors + kQueries * 4;
};

// --- attention of one query

struct QueryTiles {
  static constexpr int kThreads = 128, kMostWidth = 64;
  // number of keys whose scores are stored; if an image has more keys, its scores are computed more than once
  static constexpr int kChunk = 512;
  static constexpr int kValues = 64;  // number of values loaded at once
  // Offsets in shared memory, in bytes. The order is: scaled query, scores (later exp(score - largest score)), one
  // number per warp, and values.
  static constexpr int kOfQuery = 0;
  static constexpr int kOfScores = kOfQuery + kMostWidth * 4;
  static constexpr int kOfWarps = kOfScores + kChunk * 4;
  static constexpr int kOfValues = kOfWarps + kThreads / 32 * 4;
  static constexpr int SharedBytes(int width) { return kOfValues + 2 * kValues * width * 4; }
};

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_ATTENTION_TILES_H_
