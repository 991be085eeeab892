// SPDX-License-Identifier: Apache-2.0
// From pictures to cells: patches as they are, or convolutions as products of gathered neighbourhoods.
#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/cpu/steps/steps.h"
#include "models/program/program.h"

namespace vitrine::engine {
namespace {

using program::MapSize;

// Places of a convolution's result that are gathered for one product, at least.
constexpr int kLeastPlaces = 56;

class Patchify : public Step {
 public:
  Patchify(int patch, Operand y) : patch_(patch), y_(y) { writes = y; }

  StepCost CostOn(const Frame& frame) const override { return {.outside_floats = frame.pixels()}; }

  void Run(const Frame& frame) const override {
    for (int image = 0; image < frame.images(); ++image) {
      const Picture& picture = frame.pictures()[static_cast<size_t>(image)];
      const Grid grid = frame.grid(image);
      const View<float> y = frame.Of(y_, image);
      const int64_t plane = int64_t{picture.height} * picture.width;
      for (int64_t cell = 0; cell < grid.cells(); ++cell) {
        const int64_t top = cell / grid.columns * patch_, left = cell % grid.columns * patch_;
        float* out = y.Row(cell);
        for (int row = 0; row < patch_; ++row) {
          const float* const line = picture.data + (top + row) * picture.width + left;
          for (int column = 0; column < patch_; ++column) {
            for (int c = 0; c < picture.channels; ++c) *out++ = line[c * plane + column];
          }
        }
      }
    }
  }

 private:
  const int patch_;
  const Operand y_;
};

// A picture, or what a layer made of it. Channel c of place (row, column) is
// data[row * row_stride + column * column_stride + c * channel_stride].
struct Map {
  const float* data;
  MapSize size;
  int channels;
  int64_t row_stride;
  int64_t column_stride;
  int64_t channel_stride;
};

Map MapOf(const Picture& picture) {
  return {picture.data,        {picture.height, picture.width},        picture.channels, picture.width,
          /*column_stride=*/1, int64_t{picture.height} * picture.width};
}
Map MapOf(const float* data, MapSize size, int channels) {
  return {data, size, channels, int64_t{size.width} * channels, channels, 1};
}

// The neighbourhood of one place of the result, in the order of the weights; zeros beyond the border.
float* Gather(const Map& map, const program::Convolve& convolve, int top, int left, float* out) {
  for (int ky = 0; ky < convolve.kernel; ++ky) {
    const int row = top + ky;
    for (int kx = 0; kx < convolve.kernel; ++kx, out += map.channels) {
      const int column = left + kx;
      if (row < 0 || row >= map.size.height || column < 0 || column >= map.size.width) {
        std::fill_n(out, map.channels, 0.0f);
        continue;
      }
      const float* const from = map.data + row * map.row_stride + column * map.column_stride;
      if (map.channel_stride == 1) {
        std::copy_n(from, map.channels, out);
      } else {
        for (int c = 0; c < map.channels; ++c) out[c] = from[c * map.channel_stride];
      }
    }
  }
  return out;
}

// The largest of every pool x pool places of `rows` x `columns` x `channels` values; y has one row a place.
void MaxPool(const float* x, int columns, int64_t channels, int pool, View<float> y) {
  const int64_t across = columns / pool;
  for (int64_t place = 0; place < y.rows; ++place) {
    const float* const first = x + (place / across * pool * columns + place % across * pool) * channels;
    float* const out = y.Row(place);
    std::copy_n(first, channels, out);
    for (int i = 1; i < pool * pool; ++i) {
      const float* const from = first + (int64_t{i / pool} * columns + i % pool) * channels;
      for (int64_t c = 0; c < channels; ++c) out[c] = std::max(out[c], from[c]);
    }
  }
}

class Stem : public Step {
 public:
  Stem(std::vector<StemLayer> layers, Operand y) : layers_(std::move(layers)), y_(y) { writes = y; }

  int64_t Scratch(const Frame& frame) const override {
    int64_t most = 0;
    for (const Picture& picture : frame.pictures()) {
      const Space space = SpaceFor(picture);
      most = std::max(most, 2 * space.map + space.gathered + space.band);
    }
    return most;
  }

  StepCost CostOn(const Frame& frame) const override {
    StepCost cost = {.kind = StepKind::kConvolution, .outside_floats = frame.pixels()};
    for (const StemLayer& layer : layers_) cost.outside_floats += layer.matrix->inputs() * layer.matrix->outputs();
    for (const Picture& picture : frame.pictures()) {
      MapSize size{picture.height, picture.width};
      for (const StemLayer& layer : layers_) {
        const MapSize whole = Unpooled(layer, size);
        cost.multiply_adds += int64_t{whole.height} * whole.width * layer.matrix->inputs() * layer.matrix->outputs();
        size = program::ResultOf(layer.convolve, size);
      }
    }
    return cost;
  }

  void Run(const Frame& frame) const override {
    for (int image = 0; image < frame.images(); ++image) {
      const Picture& picture = frame.pictures()[static_cast<size_t>(image)];
      const Space space = SpaceFor(picture);
      float* const gathered = frame.scratch() + 2 * space.map;
      Map map = MapOf(picture);
      for (size_t i = 0; i < layers_.size(); ++i) {
        const int64_t outputs = layers_[i].matrix->outputs();
        const MapSize size = program::ResultOf(layers_[i].convolve, map.size);
        View<float> y = frame.Of(y_, image);
        if (i + 1 < layers_.size()) {
          y = {frame.scratch() + (i % 2) * space.map, int64_t{size.height} * size.width, outputs, outputs};
        }
        Convolve(frame.kernels(), layers_[i], map, size, gathered, gathered + space.gathered, y);
        map = MapOf(y.data, size, static_cast<int>(outputs));
      }
    }
  }

 private:
  // Floats that one picture wants.
  struct Space {
    int64_t map = 0;
    int64_t gathered = 0;
    int64_t band = 0;  // of a layer that pools, before it does
  };

  // Rows of a layer's result, before its pool, that are one product.
  static int BandOf(const StemLayer& layer, int columns) {
    const int pool = std::max(1, layer.convolve.pool);
    const int rows = (kLeastPlaces + columns - 1) / columns;
    return (rows + pool - 1) / pool * pool;
  }
  static MapSize Seen(const StemLayer& layer, MapSize size) {
    const int cut = layer.convolve.cut;
    return {size.height / cut * cut, size.width / cut * cut};
  }
  static MapSize Unpooled(const StemLayer& layer, MapSize size) {
    program::Convolve convolve = layer.convolve;
    convolve.pool = 0;
    return program::ResultOf(convolve, size);
  }

  Space SpaceFor(const Picture& picture) const {
    Space space;
    MapSize size{picture.height, picture.width};
    for (const StemLayer& layer : layers_) {
      const MapSize whole = Unpooled(layer, size);
      const int64_t places = int64_t{BandOf(layer, whole.width)} * whole.width;
      space.gathered = std::max(space.gathered, places * layer.matrix->inputs());
      if (layer.convolve.pool > 0) space.band = std::max(space.band, places * layer.matrix->outputs());
      size = program::ResultOf(layer.convolve, size);
      if (&layer != &layers_.back()) {
        space.map = std::max(space.map, int64_t{size.height} * size.width * layer.matrix->outputs());
      }
    }
    return space;
  }

  static void Convolve(const Kernels& kernels, const StemLayer& layer, Map map, MapSize size, float* gathered,
                       float* band, View<float> y) {
    const program::Convolve& convolve = layer.convolve;
    const MapSize whole = Unpooled(layer, map.size);
    map.size = Seen(layer, map.size);
    const int pool = std::max(1, convolve.pool);
    const int rows = size.height * pool, step = BandOf(layer, whole.width);
    for (int top = 0; top < rows; top += step) {
      const int count = std::min(step, rows - top);
      float* out = gathered;
      for (int row = top; row < top + count; ++row) {
        for (int column = 0; column < whole.width; ++column) {
          out = Gather(map, convolve, row * convolve.stride - convolve.padding,
                       column * convolve.stride - convolve.padding, out);
        }
      }
      const int64_t outputs = layer.matrix->outputs();
      const View<float> target{y.Row(int64_t{top} / pool * size.width), int64_t{count} / pool * size.width, outputs,
                               y.stride};
      const bool pools = convolve.pool > 0;
      kernels.gemm({.a = gathered,
                    .a_stride = layer.matrix->inputs(),
                    .rows = int64_t{count} * whole.width,
                    .inner = layer.matrix->inputs(),
                    .panels = layer.matrix->panels(),
                    .bias = layer.matrix->bias(),
                    .columns = outputs,
                    .activation = layer.activation,
                    .residual = nullptr,
                    .residual_stride = 0,
                    .y = pools ? band : target.data,
                    .y_stride = pools ? outputs : target.stride});
      if (pools) MaxPool(band, whole.width, outputs, pool, target);
    }
  }

  const std::vector<StemLayer> layers_;
  const Operand y_;
};

}  // namespace

StepPtr MakePatchify(int patch, Operand y) {
  return std::make_unique<Patchify>(patch, y);
}
StepPtr MakeStem(std::vector<StemLayer> layers, Operand y) {
  return std::make_unique<Stem>(std::move(layers), y);
}

}  // namespace vitrine::engine
