// SPDX-License-Identifier: Apache-2.0
// Softmax attention of one query per image in fp32, bit-identical to vitrine_attend_class.
//
// A block of 128 threads computes one head of an image. Each thread computes the scores of whole keys. Then 16 threads
// sum the powers exp(score - largest score); each thread adds the powers of every 16th key. One thread per channel sums
// the values. Values are copied 64 at a time; the first copies start before the scores are computed. For an image with
// more than 512 keys, the scores are computed three times.
//
// Shared memory: 11 to 35 kB. Traffic per image and layer (XCiT-N12, 224 x 224): 200 kB for k and v, read once. The
// latency of the sums over keys limits the speed: some microseconds per block.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_QUERY_ATTENTION_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_QUERY_ATTENTION_CUH_

#include <limits>

#include "models/engine/cuda/kernels/batch.cuh"
#include "models/engine/cuda/kernels/fast/attention_tiles.h"
#include "models/engine/cuda/kernels/numbers.cuh"

namespace vitrine::cuda {

class QueryHead {
 public:
  using Tiles = QueryTiles;

  VITRINE_DEVICE QueryHead(const AttendArguments& arguments, const Images& images, int row, int head)
      : arguments_(arguments),
        width_(arguments.q.columns / arguments.heads),
        row_(row),
        image_(images.ImageOf(arguments.y.rows, row)),
        column_(head * width_),
        keys_(images.RowsIn(arguments.k.rows, image_)),
        k_(RowOf(arguments.k, images.FirstRow(arguments.k.rows, image_)) + column_),
        v_(RowOf(arguments.v, images.FirstRow(arguments.v.rows, image_)) + column_),
        query_(SharedMemory<float>(Tiles::kOfQuery)),
        scores_(SharedMemory<float>(Tiles::kOfScores)),
        of_warps_(SharedMemory<float>(Tiles::kOfWarps)) {}

  VITRINE_DEVICE void Run(const Images& images) {
    SyncBlock();  // all threads have read the values of the previous item
    for (int tile = 0; tile < 2; ++tile) CopyValues(tile);
    if (Thread() < width_) {
      const int query = row_ - images.FirstRow(arguments_.y.rows, image_);
      const Global<const float> q = RowOf(arguments_.q, images.FirstRow(arguments_.q.rows, image_) + query);
      query_[Thread()] = arguments_.scale * q[column_ + Thread()];
    }
    SyncBlock();
    const float largest = Largest();
    const float factor = 1 / SumOfPowers(largest);
    SumValues(largest, factor);
  }

 private:
  VITRINE_DEVICE bool ScoresAreKept() const { return keys_ <= Tiles::kChunk; }

  // Starts the copy of a tile of values, as one group. After the last tile, the group is empty.
  VITRINE_DEVICE void CopyValues(int tile) const {
    const int parts = width_ / 4, first = tile * Tiles::kValues;
    const Shared<float> to = SharedMemory<float>(Tiles::kOfValues) + tile % 2 * Tiles::kValues * width_;
    for (int i = Thread(); i < Tiles::kValues * parts; i += Tiles::kThreads) {
      const int key = first + i / parts;
      if (key < keys_) CopyAsync(to + 4 * i, v_ + (key * arguments_.v.stride + i % parts * 4));
    }
    CommitCopies();
  }

  // Returns the score of a key. Adds its products to 16 partial sums, then adds these sums, in the order of
  // vitrine_attend_class.
  VITRINE_DEVICE float ScoreOf(int key) const {
    const Global<const Float4> k = ViewAs<const Float4>(k_ + key * arguments_.k.stride);
    const Shared<const Float4> query = ViewAs<const Float4>(query_);
    float lanes[kLanes] = {};
    for (int part = 0; part < width_ / 4; part += kLanes / 4) {
      VITRINE_UNROLL
      for (int i = 0; i < kLanes / 4; ++i) {
        const Float4 values = k[part + i], factors = query[part + i];
        for (int j = 0; j < 4; ++j) lanes[4 * i + j] = Fma(values.v[j], factors.v[j], lanes[4 * i + j]);
      }
    }
    VITRINE_UNROLL
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    if (key >= arguments_.known_offsets) return lanes[0];
    return lanes[0] + Global<const float>(arguments_.offsets)[key];
  }
  // Calls act(i, key) for this thread's keys of a chunk. scores_[i] is the place for the key's score.
  template <class Act>
  VITRINE_DEVICE void ForKeys(int first, Act act) const {
    for (int i = Thread(); i < Tiles::kChunk && first + i < keys_; i += Tiles::kThreads) act(i, first + i);
  }

  VITRINE_DEVICE float Largest() const {
    float largest = -std::numeric_limits<float>::infinity();
    for (int first = 0; first < keys_; first += Tiles::kChunk) {
      ForKeys(first, [&](int i, int key) {
        const float score = ScoreOf(key);
        scores_[i] = score;
        largest = Most(largest, score);
      });
    }
    for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) largest = Most(largest, ShuffleXor(largest, lanes));
    if (Lane() == 0) of_warps_[Thread() / kWarp] = largest;
    SyncBlock();
    largest = of_warps_[0];
    for (int warp = 1; warp < Tiles::kThreads / kWarp; ++warp) largest = Most(largest, of_warps_[warp]);
    SyncBlock();  // all threads have read of_warps_
    return largest;
  }

  // Replaces each score of a chunk by Exp(score - largest). A thread replaces only scores of its own keys (ForKeys).
  VITRINE_DEVICE void MakePowers(int first, float largest) const {
    ForKeys(first, [&](int i, int key) {
      const float score = ScoresAreKept() ? scores_[i] : ScoreOf(key);
      scores_[i] = Exp(score - largest);
    });
  }

  VITRINE_DEVICE float SumOfPowers(float largest) const {
    float sum = 0;  // in the first 16 threads: sum of the powers of every 16th key
    for (int first = 0; first < keys_; first += Tiles::kChunk) {
      MakePowers(first, largest);
      SyncBlock();
      if (Thread() < kLanes) {
        for (int i = Thread(); i < Tiles::kChunk && first + i < keys_; i += kLanes) sum += scores_[i];
      }
      if (!ScoresAreKept()) SyncBlock();  // all threads have read the powers
    }
    for (int half = kLanes / 2; half > 0; half /= 2) sum += ShuffleXor(sum, half);
    if (Thread() == 0) of_warps_[0] = sum;
    SyncBlock();
    return of_warps_[0];
  }

  // Computes y. Each channel is a sum over the keys, in the order of the keys.
  VITRINE_DEVICE void SumValues(float largest, float factor) const {
    float y = 0;
    for (int first = 0, tile = 0; first < keys_; first += Tiles::kValues, ++tile) {
      if (first % Tiles::kChunk == 0 && !ScoresAreKept()) MakePowers(first, largest);
      WaitCopies<1>();
      SyncBlock();
      if (Thread() < width_) {
        const Shared<const float> values =
            SharedMemory<float>(Tiles::kOfValues) + (tile % 2 * Tiles::kValues * width_ + Thread());
        const Shared<const float> powers = scores_ + first % Tiles::kChunk;
        const int count = keys_ - first < Tiles::kValues ? keys_ - first : Tiles::kValues;
        for (int i = 0; i < count; ++i) y = Fma(factor * powers[i], values[i * width_], y);
      }
      SyncBlock();
      CopyValues(tile + 2);
    }
    WaitCopies<0>();
    if (Thread() < width_) RowOf(arguments_.y, row_)[column_ + Thread()] = y;
  }

  const AttendArguments& arguments_;
  const int width_, row_, image_, column_, keys_;
  const Global<const float> k_, v_;
  const Shared<float> query_, scores_, of_warps_;
};

VITRINE_KERNEL(vitrine_attend_query, AttendArguments) {
  const Images images(arguments.batch);
  const int heads = arguments.heads, count = images.Rows(arguments.y.rows) * heads;
  for (int i = Block(); i < count; i += Blocks()) QueryHead(arguments, images, i / heads, i % heads).Run(images);
}

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_QUERY_ATTENTION_CUH_
