// SPDX-License-Identifier: Apache-2.0
// Softmax attention among tokens in bf16: y = softmax(scale q k^T + offsets) v, without a matrix of weights in memory.
//
// A block of 256 threads computes 128 queries of one head of an image, 16 per warp. It loads 64 keys and values at a
// time as bf16. If keys and values are bf16 in memory, they are copied while the previous 64 are used. A warp keeps the
// largest score so far, and rescales its sums when that score grows. The result bits of a query depend only on its
// image. A lane gets the scores in the layout that the left operand of the next product needs, so the weights stay in
// registers. Weights are rounded to bf16 before they are divided by their sum; the plain kernel vitrine_attend_bf16
// rounds them after the division.
//
// Shared memory: 19 to 56 kB. Traffic per image and layer (ViT-Ti/16, 224 x 224): 0.45 MB in bf16, mostly from L2, for
// 30 MFLOP. The kernel is limited by instruction issue: 14 instructions per weight.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_ATTENTION_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_ATTENTION_CUH_

#include <limits>

#include "models/engine/cuda/kernels/batch.cuh"
#include "models/engine/cuda/kernels/fast/attention_tiles.h"
#include "models/engine/cuda/kernels/numbers.cuh"

namespace vitrine::cuda {

// Lane 4 g + t of a warp holds queries g and g + 8, and columns 2 t and 2 t + 1 of each group of eight keys or
// channels.
template <int kWidth, class Number>
class TokenHead {
 public:
  using Tiles = TokenTiles<kWidth>;
  static constexpr bool kNarrow = sizeof(Number) == sizeof(uint16_t);  // q, k and v are bf16
  static_assert(kWidth % 16 == 0 && kWidth <= 64);

  VITRINE_DEVICE TokenHead(const AttendArguments& arguments, const Images& images, int image, int head, int tile)
      : arguments_(arguments),
        image_(image),
        column_(head * kWidth),
        keys_(images.RowsIn(arguments.k.rows, image)),
        queries_(images.RowsIn(arguments.y.rows, image)),
        tile_(tile) {}

  VITRINE_DEVICE void Run() {
    State state;
    SyncBlock();  // all threads have finished with the previous item
    Stage<Tiles::kQueries>(arguments_.q, tile_ * Tiles::kQueries, queries_, Tiles::kOfQueries);
    StageKeys(0);
    for (int first = 0; first < keys_; first += Tiles::kKeys) {
      WaitCopies<0>();
      SyncBlock();  // the keys have arrived, and all threads have finished with the other stage
      if (first + Tiles::kKeys < keys_) StageKeys(first + Tiles::kKeys);
      if (FirstQuery() < queries_) Advance(state, OfStage(first));
    }
    if (FirstQuery() < queries_) Store(state);
  }

 private:
  static constexpr float kLog2OfE = 1.44269504F;
  static constexpr int kSteps = kWidth / 16, kKeyTiles = Tiles::kKeys / 8, kChannelTiles = kWidth / 8;

  // Score of the keys that pad the last stage, below all other scores. FastPowerOfTwo(kNone) is at most 2^-125, which
  // is too small to change the sum of a query's weights. The values of these keys are 0.
  static constexpr float kNone = -std::numeric_limits<float>::infinity();

  struct State {
    float sums[kChannelTiles][4] = {};  // sums of weights times values
    float largest[2] = {kNone, kNone};  // largest scores of queries g and g + 8, times log2(e)
    float total[2] = {};                // sums of this lane's weights
  };

  // Returns the offset in shared memory of the stage whose first key is `first`.
  static VITRINE_DEVICE int OfStage(int first) { return first / Tiles::kKeys % 2 * Tiles::kStageBytes; }
  VITRINE_DEVICE int FirstQuery() const { return tile_ * Tiles::kQueries + Thread() / kWarp * 16; }
  VITRINE_DEVICE Global<const Number> Rows(const Matrix& x) const {
    const int64_t first = Images(arguments_.batch).FirstRow(x.rows, image_);
    return ViewAs<Number>(Global<float>(x.data)) + (first * x.stride + column_);
  }

  // Writes kRows rows of this head's columns of x to shared memory as bf16; rows with index `end` or above become
  // zeros. The copies of rows that are bf16 in memory are complete after the next WaitCopies.
  template <int kRows>
  VITRINE_DEVICE void Stage(const Matrix& x, int first, int end, int to) const {
    constexpr int kEach = kNarrow ? 8 : 4, kParts = kWidth / kEach;  // numbers of an access, and accesses of a row
    const Global<const Number> rows = Rows(x);
    const Shared<uint16_t> rounded = SharedMemory<uint16_t>(to);
    // Hides `thread` from the compiler (Opaque), which would otherwise compute the addresses before the loop and keep
    // them in registers.
    constexpr int kStep = Tiles::kThreads / kParts;  // rows that the block loads at once
    const int thread = Opaque(Thread()), row = thread / kParts, column = thread % kParts * kEach;
    if (Tiles::kThreads % kParts != 0 && row >= kStep) return;
    const Shared<uint16_t> to_row = rounded + (row * Tiles::kStride + column);
    Global<const Number> from = rows + ((first + row) * x.stride + column);
    VITRINE_UNROLL
    for (int step = 0; step < kRows; step += kStep) {
      if (kRows % kStep != 0 && row + step >= kRows) break;
      const bool valid = first + row + step < end;
      if constexpr (kNarrow) {
        CopyAsync(to_row + step * Tiles::kStride, valid ? from : rows, valid);
      } else {
        Float4 four = {};
        if (valid) four = ViewAs<const Float4>(from)[0];
        ViewAs<Words2>(to_row +
                       step * Tiles::kStride)[0] = {{PackBf16(four.v[0], four.v[1]), PackBf16(four.v[2], four.v[3])}};
      }
      from = from + kStep * x.stride;
    }
  }
  // Loads a stage (keys, values and offsets). Padding keys get the offset kNone, which makes their weights negligible.
  VITRINE_DEVICE void StageKeys(int first) const {
    Stage<Tiles::kKeys>(arguments_.k, first, keys_, Tiles::kOfKeys + OfStage(first));
    Stage<Tiles::kKeys>(arguments_.v, first, keys_, Tiles::kOfValues + OfStage(first));
    CommitCopies();
    if (Thread() >= Tiles::kKeys) return;
    const int key = first + Thread();
    float offset = key < keys_ ? 0 : kNone;
    if (key < keys_ && key < arguments_.known_offsets) {
      offset = kLog2OfE * Global<const float>(arguments_.offsets)[key];
    }
    SharedMemory<float>(Tiles::kOfOffsets + OfStage(first))[Thread()] = offset;
  }

  // Computes the scores of the warp's 16 queries and the 64 keys of a stage.
  VITRINE_DEVICE void Score(int stage, float (&scores)[kKeyTiles][4]) const {
    const int query = Thread() / kWarp * 16 + Lane() % 16, of_query = Lane() / 16 * 8;
    const int key = Lane() % 8 + Lane() / 16 * 8, of_key = Lane() / 8 % 2 * 8;
    const Shared<const uint16_t> queries =
        SharedMemory<uint16_t>(Tiles::kOfQueries) + (query * Tiles::kStride + of_query);
    const Shared<const uint16_t> all_keys =
        SharedMemory<uint16_t>(Tiles::kOfKeys + stage) + (key * Tiles::kStride + of_key);
    for (int s = 0; s < kSteps; ++s) {
      uint32_t a[4];
      LoadMatrices(a, queries + 16 * s);
      for (int n = 0; n < kKeyTiles; n += 2) {
        uint32_t b[4];
        LoadMatrices(b, all_keys + (n * 8 * Tiles::kStride + 16 * s));
        MultiplyBf16(scores[n], a, {b[0], b[1]});
        MultiplyBf16(scores[n + 1], a, {b[2], b[3]});
      }
    }
    const Shared<const Float2> offsets = SharedMemory<Float2>(Tiles::kOfOffsets + stage) + Lane() % 4;
    const float scale = kLog2OfE * arguments_.scale;
    for (int n = 0; n < kKeyTiles; ++n) {
      const Float2 offset = offsets[4 * n];
      for (int i = 0; i < 4; ++i) scores[n][i] = Fma(scores[n][i], scale, offset.v[i % 2]);
    }
  }

  // Adds the values of the keys of a stage, multiplied by their weights.
  VITRINE_DEVICE void Advance(State& state, int stage) const {
    float scores[kKeyTiles][4] = {};
    Score(stage, scores);
    for (int half = 0; half < 2; ++half) {
      float largest = state.largest[half];
      for (int n = 0; n < kKeyTiles; ++n) {
        for (int i = 0; i < 2; ++i) largest = MostOrNan(largest, scores[n][2 * half + i]);
      }
      for (int lanes = 1; lanes < 4; lanes *= 2) largest = MostOrNan(largest, ShuffleXor(largest, lanes));
      const float factor = FastPowerOfTwo(state.largest[half] - largest);
      state.largest[half] = largest;
      state.total[half] *= factor;
      for (int n = 0; n < kChannelTiles; ++n) {
        for (int i = 0; i < 2; ++i) state.sums[n][2 * half + i] *= factor;
      }
      for (int n = 0; n < kKeyTiles; ++n) {
        for (int i = 0; i < 2; ++i) {
          float& weight = scores[n][2 * half + i];
          weight = FastPowerOfTwo(weight - largest);
          state.total[half] += weight;
        }
      }
    }
    const int row = Lane() % 16, column = Lane() / 16 * 8;
    const Shared<const uint16_t> from =
        SharedMemory<uint16_t>(Tiles::kOfValues + stage) + (row * Tiles::kStride + column);
    for (int s = 0; s < kKeyTiles / 2; ++s) {
      const float(&low)[4] = scores[2 * s], (&high)[4] = scores[2 * s + 1];
      const uint32_t a[4] = {PackBf16(low[0], low[1]), PackBf16(low[2], low[3]), PackBf16(high[0], high[1]),
                             PackBf16(high[2], high[3])};
      for (int n = 0; n < kChannelTiles; n += 2) {
        uint32_t b[4];
        LoadMatricesTransposed(b, from + (16 * s * Tiles::kStride + 8 * n));
        MultiplyBf16(state.sums[n], a, {b[0], b[1]});
        MultiplyBf16(state.sums[n + 1], a, {b[2], b[3]});
      }
    }
  }

  VITRINE_DEVICE void Store(const State& state) const {
    const Matrix& y = arguments_.y;
    const int first = Images(arguments_.batch).FirstRow(y.rows, image_);
    for (int half = 0; half < 2; ++half) {
      float total = state.total[half];
      for (int lanes = 1; lanes < 4; lanes *= 2) total += ShuffleXor(total, lanes);
      const float factor = 1 / total;
      const int query = FirstQuery() + Lane() / 4 + 8 * half;
      if (query >= queries_) continue;
      for (int n = 0; n < kChannelTiles; ++n) {
        const int column = column_ + 8 * n + Lane() % 4 * 2;
        const float a = factor * state.sums[n][2 * half], b = factor * state.sums[n][2 * half + 1];
        if (y.narrow) {
          ViewAs<uint32_t>(NarrowRowOf(y, first + query) + column)[0] = PackBf16(a, b);
        } else {
          ViewAs<Float2>(RowOf(y, first + query) + column)[0] = {{a, b}};
        }
      }
    }
  }

  const AttendArguments& arguments_;
  const int image_, column_, keys_, queries_, tile_;
};

// Returns the index of the first tile of `image`. The formula needs no loop over the earlier images, but may give an
// image more tiles than its rows need; the tiles without rows are skipped.
template <int kRows>
VITRINE_DEVICE int FirstTile(const Images& images, RowsOf rows, int image) {
  return (images.FirstRow(rows, image) + image * (kRows - 1)) / kRows;
}

// Runs Head for item `i`: a tile of kQueries queries and one head. Returns false if there is no such item. Reads the
// fields of the batch again for each item, so that they occupy no registers between the reads.
template <int kQueries, class Head>
VITRINE_DEVICE bool AttendTile(const AttendArguments& arguments, int i) {
  const Images images(arguments.batch);
  const RowsOf rows = arguments.y.rows;
  const int of = i / arguments.heads;
  if (of >= FirstTile<kQueries>(images, rows, images.count())) return false;
  int image = 0, end = images.count();
  while (end - image > 1) {
    const int middle = (image + end) / 2;
    if (FirstTile<kQueries>(images, rows, middle) <= of) {
      image = middle;
    } else {
      end = middle;
    }
  }
  const int tile = of - FirstTile<kQueries>(images, rows, image);
  if (tile * kQueries < images.RowsIn(rows, image)) Head(arguments, images, image, i % arguments.heads, tile).Run();
  return true;
}
// Runs Head for this block's share of the items.
template <int kQueries, class Head>
VITRINE_DEVICE void ForAttendTiles(const AttendArguments& arguments) {
  for (int i = Block(); AttendTile<kQueries, Head>(arguments, i); i += Blocks()) {
  }
}

#define VITRINE_ATTEND_TOKENS(name, width, Number)                                    \
  VITRINE_BOUNDED_KERNEL(name, AttendArguments, TokenTiles<width>::kThreads, 2) {     \
    ForAttendTiles<TokenTiles<width>::kQueries, TokenHead<width, Number>>(arguments); \
  }
VITRINE_ATTEND_TOKENS(vitrine_attend_tokens_16, 16, float)
VITRINE_ATTEND_TOKENS(vitrine_attend_tokens_32, 32, float)
VITRINE_ATTEND_TOKENS(vitrine_attend_tokens_48, 48, float)
VITRINE_ATTEND_TOKENS(vitrine_attend_tokens_64, 64, float)
VITRINE_ATTEND_TOKENS(vitrine_attend_tokens_16_narrow, 16, uint16_t)
VITRINE_ATTEND_TOKENS(vitrine_attend_tokens_32_narrow, 32, uint16_t)
VITRINE_ATTEND_TOKENS(vitrine_attend_tokens_48_narrow, 48, uint16_t)
VITRINE_ATTEND_TOKENS(vitrine_attend_tokens_64_narrow, 64, uint16_t)

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_ATTENTION_CUH_
