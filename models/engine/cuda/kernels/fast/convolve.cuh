// SPDX-License-Identifier: Apache-2.0
// Dense convolutions of a stem, computed as matrix products in bf16. A row of the left matrix is the neighbourhood of a
// position.
//
// A warp computes 32 positions by 32, 24 or 16 outputs. Shared memory holds only the GELU table. Four lanes share a
// row. Each of them reads 8 numbers of the row (16 bytes of a map) at a time, as its part of two products. A sum may
// add its terms in any order, so the weights are stored in the order of these reads. Maps between the layers are bf16.
// This loses no accuracy, because the next layer rounds its input to bf16 anyway.
//
// Traffic per image and layer (XCiT-N12, 224 x 224): pixels 602 KB -> 401 KB -> 200 KB -> 100 KB -> rows of fp32 100
// KB. Positions of a map are read 2.25 times (3 x 3, stride 2), mostly from L1. Every 32 positions read all weights,
// 147 KB in the last layer. The kernel is limited by L1: about 2 MB per image and layer.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_CONVOLVE_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_CONVOLVE_CUH_

#include "models/engine/cuda/kernels/convolutions.cuh"
#include "models/engine/cuda/kernels/fast/gelu.cuh"
#include "models/engine/cuda/kernels/fast/shapes.h"

namespace vitrine::cuda {

// Number of rows of a product's tile that one lane reads. The lane reads rows lane / 4 + 8 i.
inline constexpr int kRowsOfLane = kPlacesOfTile / 8;

// Neighbourhood of a position: the offset of its first number, and which rows and columns are inside the map.
struct Neighbourhood {
  int64_t first;
  int of_row, of_channel;
  uint32_t inside;  // bit i: row i is inside the map; bit 16 + j: column j is inside the map

  VITRINE_DEVICE bool Has(uint32_t tap) const {
    return (inside >> TapRow(tap) & inside >> (16 + TapColumn(tap)) & 1) != 0;
  }
};

// Returns a mask with bit k set if first + k is in [0, end), for k from 0 to `kernel` - 1.
VITRINE_DEVICE uint32_t Inside(int first, int kernel, int end) {
  const int below = first < 0 ? -first : 0, above = end - first < kernel ? end - first : kernel;
  return above <= below ? 0 : (1u << above) - (1u << below);
}

VITRINE_DEVICE int64_t PlacesBefore(Global<const MapRows> to, int image) {
  const MapRows rows = to[image];
  return rows.first;
}
VITRINE_DEVICE int ImageOfPlace(Global<const MapRows> to, int images, int64_t place) {
  int first = 0, end = images;
  while (end - first > 1) {
    const int middle = (first + end) / 2;
    if (PlacesBefore(to, middle) <= place) {
      first = middle;
    } else {
      end = middle;
    }
  }
  return first;
}

// Positions of a warp's tile that one lane reads.
struct TileOfPlaces {
  Neighbourhood at[kRowsOfLane];

  // `image` must begin at or before the start of the tile. Sets `image` to the image of the tile's first position.
  VITRINE_DEVICE TileOfPlaces(const ConvolveArguments& layer, const Images& images, int64_t first, int64_t end,
                              int& image) {
    const Global<const MapRows> to(layer.to);
    while (PlacesBefore(to, image + 1) <= first) ++image;
    int of = image;
    MapRows rows = to[of];
    MapView from = ViewOf(layer, images.Of(of), of);
    const auto index = static_cast<int>(first - rows.first) + Lane() / 4;
    int row = index / rows.width, column = index % rows.width;
    VITRINE_UNROLL
    for (int i = 0; i < kRowsOfLane; ++i) {
      at[i] = {};
      if (first + Lane() / 4 + 8 * i >= end) continue;
      for (; column >= rows.width; column -= rows.width) ++row;
      if (row >= rows.height) {
        int beyond = (row - rows.height) * rows.width + column;  // number of positions beyond the image
        rows = to[++of];
        for (; beyond >= rows.height * rows.width; rows = to[++of]) beyond -= rows.height * rows.width;
        row = beyond / rows.width;
        column = beyond % rows.width;
        from = ViewOf(layer, images.Of(of), of);
      }
      const int y = row * layer.stride - layer.padding, x = column * layer.stride - layer.padding;
      at[i] = {from.first + (y * static_cast<int>(from.of_row) + x * static_cast<int>(from.of_column)),
               static_cast<int>(from.of_row), static_cast<int>(from.of_channel),
               Inside(y, layer.kernel, from.height) | Inside(x, layer.kernel, from.width) << 16};
      column += 8;
    }
  }
};

// 8 values per row of the left operand, as bf16.
struct LeftSide {
  Words4 rows[kRowsOfLane];
};

// Loads left operands from planes of pixels, one value at a time.
struct Pixels {
  // Calls act(step, left operand) for each step.
  template <class Act>
  VITRINE_DEVICE static void ForSteps(const FastConvolveArguments& arguments, const TileOfPlaces& tile, Act act) {
    for (int step = 0; step < arguments.steps; ++step) act(step, Load(arguments, tile, step));
  }

 private:
  VITRINE_DEVICE static LeftSide Load(const FastConvolveArguments& arguments, const TileOfPlaces& tile, int step) {
    const Global<const Words4> all = ViewAs<const Words4>(Global<const uint32_t>(arguments.taps)) + step * 8;
    const Words4 taps[2] = {all[Lane() % 4 * 2], all[Lane() % 4 * 2 + 1]};
    const uint32_t whole = Inside(0, arguments.layer.kernel, arguments.layer.kernel) * 0x10001u;
    const uint32_t exist = BitsOf(taps, {0, 0, 0, whole});
    int offsets[8];
    LeftSide loaded;
    VITRINE_UNROLL
    for (int i = 0; i < kRowsOfLane; ++i) {
      const Neighbourhood& at = tile.at[i];
      if (i == 0 || at.of_row != tile.at[i - 1].of_row || at.of_channel != tile.at[i - 1].of_channel) {
        VITRINE_UNROLL
        for (int j = 0; j < 8; ++j) {
          const uint32_t tap = taps[j / 4].v[j % 4];
          offsets[j] = TapRow(tap) * at.of_row + TapColumn(tap) + TapChannel(tap) * at.of_channel;
        }
      }
      const uint32_t bits = at.inside == whole ? exist : BitsOf(taps, at);
      const Global<const float> numbers(arguments.layer.x + at.first);
      float values[8] = {};
      VITRINE_UNROLL
      for (int j = 0; j < 8; ++j) {
        if ((bits >> j & 1) != 0) values[j] = numbers[offsets[j]];
      }
      VITRINE_UNROLL
      for (int j = 0; j < 4; ++j) loaded.rows[i].v[j] = PackBf16(values[2 * j], values[2 * j + 1]);
    }
    return loaded;
  }
  // Returns a mask with bit j set if the j-th value of `taps` is inside the map.
  VITRINE_DEVICE static uint32_t BitsOf(const Words4 (&taps)[2], const Neighbourhood& at) {
    uint32_t bits = 0;
    VITRINE_UNROLL
    for (int j = 0; j < 8; ++j) bits |= (at.Has(taps[j / 4].v[j % 4]) ? 1u : 0u) << j;
    return bits;
  }
};

// Loads left operands from a bf16 map, 8 channels at a time.
struct Maps {
  // Calls act(step, left operand) for each step. Loads the operand of the next step before each call.
  template <class Act>
  VITRINE_DEVICE static void ForSteps(const FastConvolveArguments& arguments, const TileOfPlaces& tile, Act act) {
    LeftSide next = Load(arguments, tile, 0);
    for (int step = 0; step < arguments.steps; ++step) {
      const LeftSide now = next;
      if (step + 1 < arguments.steps) next = Load(arguments, tile, step + 1);
      act(step, now);
    }
  }

 private:
  VITRINE_DEVICE static LeftSide Load(const FastConvolveArguments& arguments, const TileOfPlaces& tile, int step) {
    const Global<const uint16_t> numbers(arguments.x);
    const uint32_t tap = Global<const uint32_t>(arguments.taps)[step * 4 + Lane() % 4];
    LeftSide loaded;
    VITRINE_UNROLL
    for (int i = 0; i < kRowsOfLane; ++i) {
      const Neighbourhood& at = tile.at[i];
      loaded.rows[i] = {};
      if (at.Has(tap)) {
        const int64_t place =
            at.first + (TapRow(tap) * at.of_row + TapColumn(tap) * arguments.layer.channels + TapChannel(tap));
        loaded.rows[i] = ViewAs<const Words4>(numbers + place)[0];
      }
    }
    return loaded;
  }
};

// Sums of 32 positions by 8 * kTiles outputs. Lane q of four adjacent lanes holds 2 * kTiles outputs, from output
// 2 * kTiles * q on. Columns 2 q and 2 q + 1 of tile j are outputs 2 j and 2 j + 1 of this lane.
template <int kTiles>
struct PlaceSums {
  float sums[kRowsOfLane / 2][kTiles][4] = {};

  // Adds the products of one step. `weights` are the step's weights for the tile's 8 * kTiles outputs.
  VITRINE_DEVICE void Add(const LeftSide& left, Global<const Words4> weights) {
    Words4 right[kTiles];
    VITRINE_UNROLL
    for (int j = 0; j < kTiles; ++j) right[j] = weights[j * kWarp + Lane()];
    VITRINE_UNROLL
    for (int part = 0; part < 4; part += 2) {
      VITRINE_UNROLL
      for (int i = 0; i < kRowsOfLane / 2; ++i) {
        const uint32_t a[4] = {left.rows[2 * i].v[part], left.rows[2 * i + 1].v[part], left.rows[2 * i].v[part + 1],
                               left.rows[2 * i + 1].v[part + 1]};
        VITRINE_UNROLL
        for (int j = 0; j < kTiles; ++j) {
          const uint32_t b[2] = {right[j].v[part], right[j].v[part + 1]};
          MultiplyBf16(sums[i][j], a, b);
        }
      }
    }
  }
  // Returns output 2 j + k of this lane at its i-th position.
  VITRINE_DEVICE float Of(int i, int j, int k) const { return sums[i / 2][j][i % 2 * 2 + k]; }
};

// Writes a lane's bf16 outputs at one position. If kTiles is 2 or 4, `to` must be aligned to 4 * kTiles bytes.
template <int kTiles>
VITRINE_DEVICE void WriteNarrow(Global<uint32_t> to, const uint32_t (&words)[kTiles]) {
  if constexpr (kTiles == 4) {
    ViewAs<Words4>(to)[0] = {{words[0], words[1], words[2], words[3]}};
  } else if constexpr (kTiles == 2) {
    ViewAs<Words2>(to)[0] = {{words[0], words[1]}};
  } else {
    VITRINE_UNROLL
    for (int j = 0; j < kTiles; ++j) to[j] = words[j];
  }
}

// Adds the bias, applies the activation, and writes the positions before `end`. Outputs beyond the last output of the
// layer are padding; either all outputs of a lane are padding, or none.
template <int kTiles>
VITRINE_DEVICE void WritePlaces(const FastConvolveArguments& arguments, const PlaceSums<kTiles>& sums, int64_t first,
                                int64_t end, int group, const GeluTable& gelu) {
  const ConvolveArguments& layer = arguments.layer;
  const int output = group * 8 * kTiles + Lane() % 4 * 2 * kTiles;
  if (output >= layer.outputs) return;
  const Global<const Float2> biases = ViewAs<const Float2>(Global<const float>(layer.bias) + output);
  Float2 bias[kTiles];
  VITRINE_UNROLL
  for (int j = 0; j < kTiles; ++j) bias[j] = biases[j];
  VITRINE_UNROLL
  for (int i = 0; i < kRowsOfLane; ++i) {
    const int64_t place = first + Lane() / 4 + 8 * i;
    if (place >= end) continue;
    uint32_t words[kTiles];
    VITRINE_UNROLL
    for (int j = 0; j < kTiles; ++j) {
      const Float2 value = {{gelu.Activated(sums.Of(i, j, 0) + bias[j].v[0], layer.activation),
                             gelu.Activated(sums.Of(i, j, 1) + bias[j].v[1], layer.activation)}};
      words[j] = PackBf16(value.v[0], value.v[1]);
      if (arguments.y == nullptr) ViewAs<Float2>(Global<float>(layer.y + place * layer.y_stride) + output)[j] = value;
    }
    if (arguments.y == nullptr) continue;
    WriteNarrow(ViewAs<uint32_t>(Global<uint16_t>(arguments.y) + (place * layer.outputs + output)), words);
  }
}

// Computes adjacent tiles in each block, and all outputs of a tile one after the other, so that each position is read
// only once from memory.
template <class Source, int kTiles>
VITRINE_DEVICE void Convolve(const FastConvolveArguments& arguments) {
  const ConvolveArguments& layer = arguments.layer;
  const GeluTable gelu(0);
  SyncBlock();
  const Images images(layer.batch);
  const int64_t places = PlacesBefore(Global<const MapRows>(layer.to), images.count());
  const int groups = (layer.outputs + 8 * kTiles - 1) / (8 * kTiles), warps = Threads() / kWarp;
  const int64_t units = (places + kPlacesOfTile - 1) / kPlacesOfTile * groups;
  const int64_t begin = units * Block() / Blocks(), end = units * (Block() + 1) / Blocks();
  const Global<const Words4> weights = ViewAs<const Words4>(Global<const uint16_t>(arguments.weights));
  int image = ImageOfPlace(Global<const MapRows>(layer.to), images.count(), begin / groups * kPlacesOfTile);
  for (int64_t unit = begin + Thread() / kWarp; unit < end; unit += warps) {
    const int group = static_cast<int>(unit % groups);
    const int64_t first = unit / groups * kPlacesOfTile;
    const TileOfPlaces tile(layer, images, first, places, image);
    PlaceSums<kTiles> sums;
    Source::ForSteps(arguments, tile, [&](int step, const LeftSide& left) {
      sums.Add(left, weights + (int64_t{step} * groups + group) * kTiles * kWarp);
    });
    WritePlaces(arguments, sums, first, places, group, gelu);
  }
}

VITRINE_KERNEL(vitrine_convolve_pixels_16, FastConvolveArguments) {
  Convolve<Pixels, 2>(arguments);
}
VITRINE_KERNEL(vitrine_convolve_pixels_24, FastConvolveArguments) {
  Convolve<Pixels, 3>(arguments);
}
VITRINE_KERNEL(vitrine_convolve_pixels_32, FastConvolveArguments) {
  Convolve<Pixels, 4>(arguments);
}
VITRINE_KERNEL(vitrine_convolve_maps_16, FastConvolveArguments) {
  Convolve<Maps, 2>(arguments);
}
VITRINE_KERNEL(vitrine_convolve_maps_24, FastConvolveArguments) {
  Convolve<Maps, 3>(arguments);
}
VITRINE_KERNEL(vitrine_convolve_maps_32, FastConvolveArguments) {
  Convolve<Maps, 4>(arguments);
}

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_CONVOLVE_CUH_
