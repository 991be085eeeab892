// SPDX-License-Identifier: Apache-2.0
// Attention among the channels of a head in bf16 (XCiT): y = v softmax(temperature k^T q / (|k| |q|)), with the softmax
// over the channels of k.
//
// A block of 128 threads computes one head of an image. Each warp computes k^T q over every fourth group of 16 tokens,
// and sums the squares of q and k. The sums of the four warps are added in the order of the warps, so they depend only
// on the image. Products may use channels and tokens in any order. Therefore, a lane reads neighbouring channels, 16
// bytes at a time (8 bytes of bf16), and uses them directly as fragments. Shared memory holds only sums and weights.
//
// Shared memory: 5 to 43 kB. Traffic per image and layer (XCiT-N12, 224 x 224): 200 kB in bf16 for q, k, v and y, 16
// FLOP per byte. The kernel is limited by memory bandwidth or, with few images, by the latency of its three phases.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_CHANNEL_ATTENTION_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_CHANNEL_ATTENTION_CUH_

#include "models/engine/cuda/kernels/channel_attention.cuh"
#include "models/engine/cuda/kernels/fast/attention_tiles.h"

namespace vitrine::cuda {

// Lane 4 g + t of a warp holds row (or column) g of every eight rows (or columns) of an operand. Along the summed
// dimension, the lane holds elements 2 t, 2 t + 1, 2 t + 8 and 2 t + 9.
template <int kWidth, class Number>
class ChannelHead {
 public:
  using Tiles = ChannelTiles<kWidth>;
  static constexpr bool kNarrow = sizeof(Number) == sizeof(uint16_t);  // q, k and v are bf16
  static_assert(kWidth % 16 == 0 && kWidth <= 48);

  VITRINE_DEVICE ChannelHead(const ChannelArguments& arguments, const Images& images, int image, int head)
      : arguments_(arguments),
        image_(image),
        head_(head),
        tokens_(images.RowsIn(arguments.k.rows, image)),
        warp_(Thread() / kWarp),
        g_(Lane() / 4),
        t_(Lane() % 4),
        q_(Rows(arguments.q, images)),
        k_(Rows(arguments.k, images)),
        v_(Rows(arguments.v, images)),
        first_output_(images.FirstRow(arguments.y.rows, image)),
        outputs_(images.RowsIn(arguments.y.rows, image)) {}

  VITRINE_DEVICE void Run() {
    SumProducts();
    SyncBlock();
    InvertLengths();
    SyncBlock();
    for (int n = warp_; n < kSlots; n += Tiles::kWarps) MakeWeights(n);
    SyncBlock();
    Mix();
  }

 private:
  static constexpr int kSlots = kWidth / 8;  // channels per lane: one in every 8 rows or columns of the products
  static constexpr int kTokens = 16;         // tokens that a warp processes at once

  // Returns the channel that a lane with this `g` holds at index `slot`. A lane has 4 adjacent channels in every 32
  // channels. If 16 channels remain at the end, it has 2 adjacent channels of these 16. Reads and products use this
  // order of channels.
  static VITRINE_DEVICE int ChannelOf(int g, int slot) {
    constexpr int kFours = kWidth / 32 * 4;
    return slot < kFours ? 4 * g + slot : 2 * g + slot + 7 * kFours;
  }

  VITRINE_DEVICE Global<const Number> Rows(const Matrix& x, const Images& images) const {
    return ViewAs<Number>(Global<float>(x.data)) + (images.FirstRow(x.rows, image_) * x.stride + head_ * kWidth);
  }

  // Values of q or k that one lane reads for four tokens. packed[slot] holds one channel in bf16, two tokens per word.
  // Both operands of MultiplyBf16 use this layout.
  struct Channels {
    uint32_t packed[kSlots][2];
  };
  VITRINE_DEVICE void Load(Channels& to, Global<const Number> x, int64_t stride, int first, float (&squares)[kSlots]) {
    float values[4][kSlots];
    for (int e = 0; e < 4; ++e) {
      const int token = first + 4 * t_ + e;
      const Global<const Number> row = x + token * stride;
      const bool valid = token < tokens_;
      for (int part = 0; part < kWidth / 32; ++part) {
        Float4 four = {};
        if (valid) four = FourAt(row + (32 * part + 4 * g_));
        for (int i = 0; i < 4; ++i) values[e][4 * part + i] = four.v[i];
      }
      if constexpr (kWidth % 32 != 0) {
        Float2 two = {};
        if (valid) two = TwoAt(row + (kWidth / 32 * 32 + 2 * g_));
        for (int i = 0; i < 2; ++i) values[e][kSlots - 2 + i] = two.v[i];
      }
    }
    for (int slot = 0; slot < kSlots; ++slot) {
      for (int half = 0; half < 2; ++half) {
        to.packed[slot][half] = PackBf16(values[2 * half][slot], values[2 * half + 1][slot]);
      }
      for (int e = 0; e < 4; ++e) squares[slot] = Fma(values[e][slot], values[e][slot], squares[slot]);
    }
  }

  static VITRINE_DEVICE Float2 TwoAt(Global<const Number> from) {
    if constexpr (kNarrow) {
      return FloatsOf(ViewAs<const uint32_t>(from)[0]);
    } else {
      return ViewAs<const Float2>(from)[0];
    }
  }
  static VITRINE_DEVICE Float4 FourAt(Global<const Number> from) {
    if constexpr (kNarrow) {
      const Words2 words = ViewAs<const Words2>(from)[0];
      const Float2 low = FloatsOf(words.v[0]), high = FloatsOf(words.v[1]);
      return {{low.v[0], low.v[1], high.v[0], high.v[1]}};
    } else {
      return ViewAs<const Float4>(from)[0];
    }
  }

  // Sums k^T q, the squares of q and the squares of k over this warp's tokens.
  VITRINE_DEVICE void SumProducts() {
    float products[kSlots / 2][kSlots][4] = {}, squares[2][kSlots] = {};
    for (int first = warp_ * kTokens; first < tokens_; first += Tiles::kWarps * kTokens) {
      Channels q, k;
      Load(q, q_, arguments_.q.stride, first, squares[0]);
      Load(k, k_, arguments_.k.stride, first, squares[1]);
      for (int m = 0; m < kSlots / 2; ++m) {
        const uint32_t a[4] = {k.packed[2 * m][0], k.packed[2 * m + 1][0], k.packed[2 * m][1], k.packed[2 * m + 1][1]};
        for (int n = 0; n < kSlots; ++n) MultiplyBf16(products[m][n], a, q.packed[n]);
      }
    }
    for (int m = 0; m < kSlots / 2; ++m) {
      for (int n = 0; n < kSlots; ++n) {
        const float(&d)[4] = products[m][n];
        Products(warp_, m, n)[Lane()] = {{d[0], d[1], d[2], d[3]}};
      }
    }
    const Shared<float> to = SharedMemory<float>(Tiles::kSquares) + warp_ * 2 * kWidth;
    for (float(&sums)[kSlots] : squares) {
      for (float& sum : sums) {
        sum += ShuffleXor(sum, 1);
        sum += ShuffleXor(sum, 2);
      }
    }
    if (t_ != 0) return;
    for (int slot = 0; slot < kSlots; ++slot) {
      const int channel = ChannelOf(g_, slot);
      to[channel] = squares[0][slot];
      to[kWidth + channel] = squares[1][slot];
    }
  }
  VITRINE_DEVICE Shared<Float4> Products(int warp, int m, int n) const {
    return SharedMemory<Float4>(Tiles::kProducts) + ((warp * (kSlots / 2) + m) * kSlots + n) * kWarp;
  }

  // Computes 1 / length of each channel of q, then of k.
  VITRINE_DEVICE void InvertLengths() {
    const int of = Thread();
    if (of >= 2 * kWidth) return;
    const Shared<const float> squares = SharedMemory<float>(Tiles::kSquares);
    float sum = squares[of];
    for (int warp = 1; warp < Tiles::kWarps; ++warp) sum += squares[warp * 2 * kWidth + of];
    SharedMemory<float>(Tiles::kInverses)[of] = 1 / Most(kLeastLength, Root(sum));
  }

  // Computes the weights of eight channels of q. Each lane has two of these channels, and a part of the channels of k.
  VITRINE_DEVICE void MakeWeights(int n) {
    const Shared<const float> inverses = SharedMemory<float>(Tiles::kInverses);
    const float temperature = Global<const float>(arguments_.temperature)[head_];
    float scores[2][kSlots];  // indices: channel of q, channel of k
    for (int m = 0; m < kSlots / 2; ++m) {
      Float4 sum = Products(0, m, n)[Lane()];
      for (int warp = 1; warp < Tiles::kWarps; ++warp) {
        const Float4 more = Products(warp, m, n)[Lane()];
        for (int i = 0; i < 4; ++i) sum.v[i] += more.v[i];
      }
      for (int i = 0; i < 4; ++i) scores[i % 2][2 * m + i / 2] = sum.v[i];
    }
    for (int slot = 0; slot < kSlots; ++slot) {
      const float factor = temperature * inverses[kWidth + ChannelOf(g_, slot)];
      for (int of = 0; of < 2; ++of) scores[of][slot] *= factor * inverses[ChannelOf(2 * t_ + of, n)];
    }
    for (int of = 0; of < 2; ++of) {
      const int channel = ChannelOf(2 * t_ + of, n);
      Write(arguments_.scores, channel, scores[of]);
      Softmax(scores[of]);
      Write(arguments_.matrices, channel, scores[of]);
      const Shared<uint16_t> weights = SharedMemory<uint16_t>(Tiles::kWeights) + channel * Tiles::kWeightStride;
      for (int slot = 0; slot < kSlots; slot += 2) {
        ViewAs<uint32_t>(weights + ChannelOf(g_, slot))[0] = PackBf16(scores[of][slot], scores[of][slot + 1]);
      }
    }
  }
  // Computes the softmax of a column. This lane has kSlots scores of the column; the lanes with the same index modulo 4
  // have the rest.
  static VITRINE_DEVICE void Softmax(float (&scores)[kSlots]) {
    float largest = scores[0];
    for (int slot = 1; slot < kSlots; ++slot) largest = Most(largest, scores[slot]);
    for (int lanes = 4; lanes < kWarp; lanes *= 2) largest = Most(largest, ShuffleXor(largest, lanes));
    float sum = 0;
    for (int slot = 0; slot < kSlots; ++slot) {
      scores[slot] = Exp(scores[slot] - largest);
      sum += scores[slot];
    }
    for (int lanes = 4; lanes < kWarp; lanes *= 2) sum += ShuffleXor(sum, lanes);
    const float factor = 1 / sum;
    for (int slot = 0; slot < kSlots; ++slot) scores[slot] = factor * scores[slot];
  }
  // Writes this lane's part of the column of one channel of q to `matrices` [images, heads, channels of k, channels of
  // q]. Does nothing if `matrices` is null.
  VITRINE_DEVICE void Write(float* matrices, int channel, const float (&column)[kSlots]) const {
    if (matrices == nullptr) return;
    const int64_t first = (int64_t{image_} * arguments_.heads + head_) * kWidth * kWidth;
    const Global<float> to = Global<float>(matrices) + first;
    for (int slot = 0; slot < kSlots; ++slot) to[ChannelOf(g_, slot) * kWidth + channel] = column[slot];
  }

  // Computes y = v * weights. A lane holds channels 4 t to 4 t + 3 of every 16 channels, both of v and of y.
  VITRINE_DEVICE void Mix() {
    uint32_t weights[kWidth / 16][kSlots][2];
    for (int s = 0; s < kWidth / 16; ++s) {
      for (int n = 0; n < kSlots; ++n) {
        const int channel = n / 2 * 16 + g_ / 2 * 4 + n % 2 * 2 + g_ % 2;
        const int at = channel * Tiles::kWeightStride + 16 * s + 4 * t_;
        const Words2 words = ViewAs<const Words2>(SharedMemory<const uint16_t>(Tiles::kWeights) + at)[0];
        weights[s][n][0] = words.v[0];
        weights[s][n][1] = words.v[1];
      }
    }
    for (int first = warp_ * kTokens; first < outputs_; first += Tiles::kWarps * kTokens) {
      float sums[kSlots][4] = {};
      for (int s = 0; s < kWidth / 16; ++s) {
        const Words2 low = Values(first + g_, s), high = Values(first + g_ + 8, s);
        const uint32_t a[4] = {low.v[0], high.v[0], low.v[1], high.v[1]};
        for (int n = 0; n < kSlots; ++n) MultiplyBf16(sums[n], a, weights[s][n]);
      }
      for (int half = 0; half < 2; ++half) {
        const int token = first + g_ + 8 * half;
        if (token >= outputs_) continue;
        for (int p = 0; p < kSlots / 2; ++p) {
          const float(&d)[4] = sums[2 * p], (&e)[4] = sums[2 * p + 1];
          Store(token, 16 * p + 4 * t_, {{d[2 * half], d[2 * half + 1], e[2 * half], e[2 * half + 1]}});
        }
      }
    }
  }
  // Returns four channels of v as bf16.
  VITRINE_DEVICE Words2 Values(int token, int s) const {
    if (token >= outputs_) return {};
    const Global<const Number> from = v_ + (token * arguments_.v.stride + 16 * s + 4 * t_);
    if constexpr (kNarrow) {
      return ViewAs<const Words2>(from)[0];
    } else {
      const Float4 four = ViewAs<const Float4>(from)[0];
      return {{PackBf16(four.v[0], four.v[1]), PackBf16(four.v[2], four.v[3])}};
    }
  }
  VITRINE_DEVICE void Store(int token, int channel, const Float4& four) const {
    const Matrix& y = arguments_.y;
    const int row = first_output_ + token, column = head_ * kWidth + channel;
    if (y.narrow) {
      ViewAs<Words2>(NarrowRowOf(y, row) +
                     column)[0] = {{PackBf16(four.v[0], four.v[1]), PackBf16(four.v[2], four.v[3])}};
    } else {
      ViewAs<Float4>(RowOf(y, row) + column)[0] = four;
    }
  }

  const ChannelArguments& arguments_;
  const int image_, head_, tokens_, warp_, g_, t_;
  const Global<const Number> q_, k_, v_;
  const int first_output_, outputs_;
};

template <int kWidth, class Number>
VITRINE_DEVICE void AttendChannels(const ChannelArguments& arguments) {
  const Images images(arguments.batch);
  const int heads = arguments.heads, count = images.count() * heads;
  for (int i = Block(); i < count; i += Blocks()) {
    ChannelHead<kWidth, Number>(arguments, images, i / heads, i % heads).Run();
  }
}
#define VITRINE_ATTEND_CHANNELS(name, width, Number) \
  VITRINE_KERNEL(name, ChannelArguments) {           \
    AttendChannels<width, Number>(arguments);        \
  }
VITRINE_ATTEND_CHANNELS(vitrine_attend_channels_16, 16, float)
VITRINE_ATTEND_CHANNELS(vitrine_attend_channels_32, 32, float)
VITRINE_ATTEND_CHANNELS(vitrine_attend_channels_48, 48, float)
VITRINE_ATTEND_CHANNELS(vitrine_attend_channels_16_narrow, 16, uint16_t)
VITRINE_ATTEND_CHANNELS(vitrine_attend_channels_32_narrow, 32, uint16_t)
VITRINE_ATTEND_CHANNELS(vitrine_attend_channels_48_narrow, 48, uint16_t)

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_CHANNEL_ATTENTION_CUH_
