// SPDX-License-Identifier: Apache-2.0
// Softmax attention among tokens in fp32, bit-identical to vitrine_attend: y = softmax(scale q k^T + offsets) v.
//
// A block of 128 threads computes 32 queries of one head of an image. It keeps the scores of up to 224 keys in shared
// memory. For an image with more keys, each of the three passes computes all scores. The passes find the largest score,
// the sum of the powers exp(score - largest score), and the weighted sum of the values. Keys and values are loaded 32
// at a time. A thread computes 2 x 4 scores, or 4 x 4 outputs, each as one sequence of multiply-adds. One thread adds
// the powers of a query in the order of the keys.
//
// Shared memory: 34 to 47 kB. Traffic per image and layer (ViT-Ti/16, 224 x 224): 2.4 MB, mostly from L2, for 30 MFLOP.
// The kernel is limited by shared memory: 6 accesses per 32 multiply-adds.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_ATTENTION_FP32_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_ATTENTION_FP32_CUH_

#include "models/engine/cuda/kernels/fast/attention.cuh"

namespace vitrine::cuda {

template <int kWidth>
class TokenHeadFp32 {
 public:
  using Tiles = TokenTilesFp32<kWidth>;
  static_assert(kWidth % 16 == 0 && kWidth <= 64);

  VITRINE_DEVICE TokenHeadFp32(const AttendArguments& arguments, const Images& images, int image, int head, int tile)
      : arguments_(arguments),
        column_(head * kWidth),
        first_query_(tile * Tiles::kQueries),
        queries_(images.RowsIn(arguments.y.rows, image)),
        keys_(images.RowsIn(arguments.k.rows, image)),
        q_row_(images.FirstRow(arguments.q.rows, image) + first_query_),
        k_row_(images.FirstRow(arguments.k.rows, image)),
        v_row_(images.FirstRow(arguments.v.rows, image)),
        y_row_(images.FirstRow(arguments.y.rows, image) + first_query_) {}

  VITRINE_DEVICE void Run() const {
    SyncBlock();  // all threads have finished with the previous item
    StageQueries();
    for (int first = 0; first < keys_; first += Tiles::kChunk) {
      Score(first);
      UpdateLargest(first);
    }
    float sum = 0;  // sum of the powers of query Thread()
    for (int first = 0; first < keys_; first += Tiles::kChunk) {
      if (!IsOneChunk()) Score(first);
      Raise(first);
      for (int key = 0; Thread() < Tiles::kQueries && key < CountOf(first); ++key) sum += ScoresOf(Thread())[key];
    }
    if (Thread() < Tiles::kQueries) Factors()[Thread()] = 1 / sum;
    float sums[4][4] = {};
    for (int first = 0; first < keys_; first += Tiles::kChunk) {
      if (!IsOneChunk()) {
        Score(first);
        Raise(first);
      }
      AddValues(first, sums);
    }
    Store(sums);
  }

 private:
  VITRINE_DEVICE bool IsOneChunk() const { return keys_ <= Tiles::kChunk; }
  // Returns the number of keys of the chunk that begins at `first`.
  VITRINE_DEVICE int CountOf(int first) const { return keys_ - first < Tiles::kChunk ? keys_ - first : Tiles::kChunk; }
  static VITRINE_DEVICE Shared<float> ScoresOf(int query) {
    return SharedMemory<float>(Tiles::kOfScores) + query * Tiles::kScoreStride;
  }
  static VITRINE_DEVICE Shared<float> Rows() { return SharedMemory<float>(Tiles::kOfRows); }
  static VITRINE_DEVICE Shared<float> Largest() { return SharedMemory<float>(Tiles::kOfLargest); }
  static VITRINE_DEVICE Shared<float> Factors() { return SharedMemory<float>(Tiles::kOfFactors); }

  // Writes the queries, multiplied by the scale, to shared memory. Writes zeros for queries that do not exist.
  VITRINE_DEVICE void StageQueries() const {
    const Shared<Float4> to = SharedMemory<Float4>(Tiles::kOfQueries);
    for (int i = Thread(); i < Tiles::kQueries * (kWidth / 4); i += Tiles::kThreads) {
      const int query = i / (kWidth / 4), four = i % (kWidth / 4);
      Float4 q = {};
      if (first_query_ + query < queries_) {
        q = ViewAs<const Float4>(RowOf(arguments_.q, q_row_ + query) + column_)[four];
      }
      for (int j = 0; j < 4; ++j) q.v[j] = arguments_.scale * q.v[j];
      to[query * (Tiles::kStride / 4) + four] = q;
    }
  }
  // Writes kKeys rows of k or v, starting at row index `first`, to shared memory. Rows from index `end` on are zeros.
  VITRINE_DEVICE void StageRows(const Matrix& x, int row, int first, int end) const {
    const Shared<Float4> to = ViewAs<Float4>(Rows());
    SyncBlock();  // all threads have finished with the previous rows
    for (int i = Thread(); i < Tiles::kKeys * (kWidth / 4); i += Tiles::kThreads) {
      const int key = i / (kWidth / 4), four = i % (kWidth / 4);
      Float4 numbers = {};
      if (first + key < end) numbers = ViewAs<const Float4>(RowOf(x, row + first + key) + column_)[four];
      to[key * (Tiles::kStride / 4) + four] = numbers;
    }
    SyncBlock();
  }

  // Computes the scores of a chunk of keys.
  VITRINE_DEVICE void Score(int first) const {
    const int end = first + CountOf(first);
    for (int at = first; at < end; at += Tiles::kKeys) {
      StageRows(arguments_.k, k_row_, at, end);
      float scores[2][4] = {};
      const int key = Thread() % 8, query = Thread() / 8;  // also key + 8, key + 16, key + 24 and query + 16
      const Shared<const Float4> q = SharedMemory<Float4>(Tiles::kOfQueries) + query * (Tiles::kStride / 4);
      const Shared<const Float4> k = ViewAs<Float4>(Rows()) + key * (Tiles::kStride / 4);
      for (int four = 0; four < kWidth / 4; ++four) {
        Float4 left[2], right[4];
        for (int i = 0; i < 2; ++i) left[i] = q[i * 16 * (Tiles::kStride / 4) + four];
        for (int j = 0; j < 4; ++j) right[j] = k[j * 8 * (Tiles::kStride / 4) + four];
        for (int c = 0; c < 4; ++c) {
          for (int i = 0; i < 2; ++i) {
            for (int j = 0; j < 4; ++j) scores[i][j] = Fma(right[j].v[c], left[i].v[c], scores[i][j]);
          }
        }
      }
      for (int j = 0; j < 4; ++j) {
        const int of = at + key + 8 * j;
        if (of >= end) continue;
        const bool has_offset = of < arguments_.known_offsets;
        const float offset = has_offset ? Global<const float>(arguments_.offsets)[of] : 0.0F;
        for (int i = 0; i < 2; ++i) {
          ScoresOf(query + 16 * i)[of - first] = has_offset ? scores[i][j] + offset : scores[i][j];
        }
      }
    }
    SyncBlock();
  }
  // Calls act(query) in all lanes of a warp, for the warp's share of the queries.
  template <class Act>
  static VITRINE_DEVICE void ForQueriesOfWarp(Act act) {
    for (int query = Thread() / kWarp; query < Tiles::kQueries; query += Tiles::kThreads / kWarp) act(query);
  }
  VITRINE_DEVICE void UpdateLargest(int first) const {
    const int count = CountOf(first);
    ForQueriesOfWarp([&](int query) {
      float largest = first == 0 ? ScoresOf(query)[0] : Largest()[query];
      for (int key = Lane(); key < count; key += kWarp) largest = Most(largest, ScoresOf(query)[key]);
      for (int mask = kWarp / 2; mask > 0; mask /= 2) largest = Most(largest, ShuffleXor(largest, mask));
      SyncWarp();  // all lanes have read the largest score so far
      if (Lane() == 0) Largest()[query] = largest;
    });
    SyncBlock();
  }
  // Replaces each score by Exp(score - largest).
  VITRINE_DEVICE void Raise(int first) const {
    const int count = CountOf(first);
    ForQueriesOfWarp([&](int query) {
      const float largest = Largest()[query];
      for (int key = Lane(); key < count; key += kWarp) ScoresOf(query)[key] = Exp(ScoresOf(query)[key] - largest);
    });
    SyncBlock();
  }

  // Return the first of the four queries, and the first of the four channels, that this thread computes.
  static VITRINE_DEVICE int OutputQuery() { return Thread() / (kWidth / 4) * 4; }
  static VITRINE_DEVICE int OutputChannel() { return Thread() % (kWidth / 4) * 4; }

  VITRINE_DEVICE void AddValues(int first, float (&sums)[4][4]) const {
    const int end = first + CountOf(first);
    for (int at = first; at < end; at += Tiles::kKeys) {
      StageRows(arguments_.v, v_row_, at, end);
      if (OutputQuery() >= Tiles::kQueries) continue;
      float factors[4];
      for (int i = 0; i < 4; ++i) factors[i] = Factors()[OutputQuery() + i];
      const Shared<const float> powers = ScoresOf(OutputQuery()) + (at - first);
      const Shared<const Float4> values = ViewAs<Float4>(Rows() + OutputChannel());
      const int count = end - at < Tiles::kKeys ? end - at : Tiles::kKeys;
      for (int key = 0; key < count; ++key) {
        const Float4 v = values[key * (Tiles::kStride / 4)];
        for (int i = 0; i < 4; ++i) {
          const float weight = factors[i] * powers[i * Tiles::kScoreStride + key];
          for (int c = 0; c < 4; ++c) sums[i][c] = Fma(weight, v.v[c], sums[i][c]);
        }
      }
    }
  }
  VITRINE_DEVICE void Store(const float (&sums)[4][4]) const {
    if (OutputQuery() >= Tiles::kQueries) return;
    for (int i = 0; i < 4; ++i) {
      const int query = OutputQuery() + i;
      if (first_query_ + query >= queries_) continue;
      ViewAs<Float4>(RowOf(arguments_.y, y_row_ + query) +
                     (column_ + OutputChannel()))[0] = {{sums[i][0], sums[i][1], sums[i][2], sums[i][3]}};
    }
  }

  const AttendArguments& arguments_;
  const int column_, first_query_, queries_, keys_, q_row_, k_row_, v_row_, y_row_;
};

#define VITRINE_ATTEND_TOKENS_FP32(name, width)                                       \
  VITRINE_BOUNDED_KERNEL(name, AttendArguments, TokenTilesFp32<width>::kThreads, 4) { \
    ForAttendTiles<TokenTilesFp32<width>::kQueries, TokenHeadFp32<width>>(arguments); \
  }
VITRINE_ATTEND_TOKENS_FP32(vitrine_attend_tokens_16_fp32, 16)
VITRINE_ATTEND_TOKENS_FP32(vitrine_attend_tokens_32_fp32, 32)
VITRINE_ATTEND_TOKENS_FP32(vitrine_attend_tokens_48_fp32, 48)
VITRINE_ATTEND_TOKENS_FP32(vitrine_attend_tokens_64_fp32, 64)

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_ATTENTION_FP32_CUH_
