// SPDX-License-Identifier: Apache-2.0
// From pictures to cells by convolutions.
#include <algorithm>
#include <array>
#include <utility>

#include "engine/cpu/steps/convolution.h"
#include "engine/cpu/steps/steps.h"
#include "models/program/program.h"

namespace vitrine::engine {
namespace {

using program::MapSize;

// Places of a result that a panel of weights is read for, at least.
constexpr int kLeastPlaces = 56;

// What a layer sees: channels last, with a border of zeros.
struct Map {
  MapSize size;  // without its border
  int64_t channels = 0;
  int border = 0;
  float* data = nullptr;
  int made = 0;  // rows that are there

  int64_t columns() const { return size.width + 2 * border; }
  int64_t floats() const { return (size.height + 2 * border) * columns() * channels; }
  float* Row(int row) const { return data + ((row + border) * columns() + border) * channels; }

  void ClearBorder() const {
    const int64_t line = columns() * channels, side = border * channels;
    std::fill_n(data, border * line, 0.0f);
    for (int row = 0; row < size.height; ++row) {
      std::fill_n(Row(row) - side, side, 0.0f);
      std::fill_n(Row(row) + size.width * channels, side, 0.0f);
    }
    std::fill_n(Row(size.height) - side, border * line, 0.0f);
  }
};

// The largest of every pool x pool places: `x` has `pool` rows of columns * pool places, `y` one of `columns`.
void MaxPool(const float* x, int columns, int64_t channels, int pool, float* y) {
  for (int column = 0; column < columns; ++column, y += channels) {
    const float* const first = x + int64_t{column} * pool * channels;
    std::copy_n(first, channels, y);
    for (int i = 1; i < pool * pool; ++i) {
      const float* const from = first + (int64_t{i / pool} * columns * pool + i % pool) * channels;
      for (int64_t c = 0; c < channels; ++c) y[c] = std::max(y[c], from[c]);
    }
  }
}

// One picture on its way through the layers. Rows of a map are made when the next layer wants them, so that they are
// read while they lie in the first caches.
class Passage {
 public:
  Passage(const Kernels& kernels, const std::vector<StemLayer>& layers, const Picture& picture)
      : kernels_(kernels), layers_(layers), picture_(picture) {
    MapSize size{picture.height, picture.width};
    int64_t channels = picture.channels;
    for (size_t i = 0; i < layers.size(); ++i) {
      const program::Convolve& convolve = layers[i].convolve;
      const int cut = convolve.cut;
      maps_[i] = {
          .size = {size.height / cut * cut, size.width / cut * cut}, .channels = channels, .border = convolve.padding};
      size = program::ResultOf(convolve, size);
      channels = layers[i].matrix->outputs();
    }
    maps_[layers.size()] = {.size = size, .channels = channels};
  }

  // Floats of scratch: the maps, and a band of a layer that pools, before it does.
  int64_t Floats() const {
    int64_t floats = 0;
    for (size_t i = 0; i < layers_.size(); ++i) {
      floats += maps_[i].floats();
      if (layers_[i].convolve.pool > 0) floats += BandFloats(i);
    }
    return floats;
  }

  void Run(float* scratch, View<float> y) {
    for (size_t i = 0; i < layers_.size(); ++i) {
      maps_[i].data = scratch;
      maps_[i].ClearBorder();
      scratch += maps_[i].floats();
    }
    band_ = scratch;
    Map& last = maps_[layers_.size()];
    last.data = y.data;
    Make(layers_.size(), last.size.height, y.stride);
  }

 private:
  int64_t BandFloats(size_t i) const {
    const int pool = layers_[i].convolve.pool;
    return int64_t{pool} * pool * maps_[i + 1].size.width * maps_[i + 1].channels;
  }

  // Rows of map i, `last` of them in all. `stride` is from place to place of them.
  void Make(size_t i, int last, int64_t stride) {
    Map& map = maps_[i];
    last = std::min(last, map.size.height);
    if (i == 0) {
      for (; map.made < last; ++map.made) Interleave(map.made);
      return;
    }
    const program::Convolve& convolve = layers_[i - 1].convolve;
    const int pool = std::max(1, convolve.pool);
    const int band = convolve.pool > 0 ? 1 : (kLeastPlaces + map.size.width - 1) / map.size.width;
    while (map.made < last) {
      const int rows = std::min(band, map.size.height - map.made);
      const int seen = ((map.made + rows) * pool - 1) * convolve.stride + convolve.kernel - convolve.padding;
      Make(i - 1, seen, maps_[i - 1].channels);
      Convolve(i - 1, map.made, rows, stride);
      map.made += rows;
    }
  }

  void Interleave(int row) {
    const Map& map = maps_[0];
    const int64_t plane = int64_t{picture_.height} * picture_.width;
    const float* const from = picture_.data + int64_t{row} * picture_.width;
    float* const to = map.Row(row);
    if (map.channels == 3) {
      const float *const red = from, *const green = from + plane, *const blue = from + 2 * plane;
      for (int64_t column = 0; column < map.size.width; ++column) {
        to[3 * column] = red[column];
        to[3 * column + 1] = green[column];
        to[3 * column + 2] = blue[column];
      }
    } else {  // of one channel: there are no others
      std::copy_n(from, map.size.width, to);
    }
  }

  // Rows of the map that layer i makes.
  void Convolve(size_t i, int first, int rows, int64_t stride) {
    const StemLayer& layer = layers_[i];
    const Map &from = maps_[i], &to = maps_[i + 1];
    const program::Convolve& convolve = layer.convolve;
    const Convolution convolution{*layer.matrix,   layer.activation, convolve.kernel,
                                  convolve.stride, from.channels,    from.columns()};
    const int64_t outputs = to.channels;
    const int pool = std::max(1, convolve.pool);
    const int64_t places = int64_t{to.size.width} * pool;
    for (int64_t panel = 0; panel < outputs; panel += kernels_.panel_columns) {
      const int64_t columns = std::min<int64_t>(kernels_.panel_columns, outputs - panel);
      for (int row = 0; row < rows * pool; ++row) {
        const int top = (first * pool + row) * convolve.stride - convolve.padding;
        const float* const corner = from.Row(top) - convolve.padding * from.channels;
        if (convolve.pool > 0) {
          const int64_t band_stride = outputs;
          convolution.RunPanel(kernels_, corner, places, panel, columns, band_ + row * places * band_stride,
                               band_stride);
        } else {
          convolution.RunPanel(kernels_, corner, places, panel, columns, RowOf(to, first + row, stride), stride);
        }
      }
    }
    if (convolve.pool > 0) MaxPool(band_, to.size.width, outputs, pool, RowOf(to, first, stride));
  }

  // The last map lies where its places are `stride` apart.
  static float* RowOf(const Map& map, int row, int64_t stride) {
    return stride == map.channels ? map.Row(row) : map.data + int64_t{row} * map.size.width * stride;
  }

  const Kernels& kernels_;
  const std::vector<StemLayer>& layers_;
  const Picture& picture_;
  std::array<Map, kMostStemLayers + 1> maps_;  // what each layer sees, and the result
  float* band_ = nullptr;
};

class Stem : public Step {
 public:
  Stem(std::vector<StemLayer> layers, Operand y) : layers_(std::move(layers)), y_(y) { writes = y; }

  int64_t Scratch(const Frame& frame) const override {
    int64_t most = 0;
    for (const Picture& picture : frame.pictures()) {
      most = std::max(most, Passage(frame.kernels(), layers_, picture).Floats());
    }
    return most;
  }

  StepCost CostOn(const Frame& frame) const override {
    StepCost cost = {.kind = StepKind::kConvolution, .outside_floats = frame.pixels()};
    for (const StemLayer& layer : layers_) cost.outside_floats += layer.matrix->inputs() * layer.matrix->outputs();
    for (const Picture& picture : frame.pictures()) {
      MapSize size{picture.height, picture.width};
      for (const StemLayer& layer : layers_) {
        size = program::ResultOf(layer.convolve, size);
        const int64_t pool = std::max(1, layer.convolve.pool);
        cost.multiply_adds +=
            int64_t{size.height} * size.width * pool * pool * layer.matrix->inputs() * layer.matrix->outputs();
      }
    }
    return cost;
  }

  void Run(const Frame& frame) const override {
    for (int image = 0; image < frame.images(); ++image) {
      Passage(frame.kernels(), layers_, frame.pictures()[static_cast<size_t>(image)])
          .Run(frame.scratch(), frame.Of(y_, image));
    }
  }

 private:
  const std::vector<StemLayer> layers_;
  const Operand y_;
};

}  // namespace

StepPtr MakeStem(std::vector<StemLayer> layers, Operand y) {
  return std::make_unique<Stem>(std::move(layers), y);
}

}  // namespace vitrine::engine
