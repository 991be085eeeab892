// SPDX-License-Identifier: Apache-2.0
// Stems: convolutions that compute the features of each cell of the token grid from an image.
#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "models/engine/cpu/steps/convolution.h"
#include "models/engine/cpu/steps/steps.h"
#include "models/program/program.h"

namespace vitrine::engine {
namespace {

using program::MapSize;

// Number of positions that a layer without pooling computes per read of a weight panel; rounded up to whole rows.
constexpr int kLeastPlaces = 56;

// Prefetch distance in image rows. Software prefetch is needed because the hardware prefetcher stops at the end of each
// memory page.
constexpr int kRowsAhead = 2;
constexpr int kLineFloats = 16;

// Number of padding values after a map. A product reads bf16 in pairs. If a row of a neighbourhood has an odd number of
// values, the product also reads the next value, whose weight is 0.
constexpr int64_t kSlack = 2;

// Input of a layer: channels last, with a border of zeros.
template <class Number>
struct Map {
  MapSize size;  // without the border
  int64_t channels = 0;
  int border = 0;
  Number* data = nullptr;
  int made = 0;  // number of rows computed so far

  int64_t columns() const { return size.width + 2 * border; }
  int64_t numbers() const { return (size.height + 2 * border) * columns() * channels + kSlack; }
  Number* Row(int row) const { return data + ((row + border) * columns() + border) * channels; }

  void ClearBorder() const {
    const int64_t line = columns() * channels, side = border * channels;
    std::fill_n(data, border * line, Number{});
    for (int row = 0; row < size.height; ++row) {
      std::fill_n(Row(row) - side, side, Number{});
      std::fill_n(Row(row) + size.width * channels, side, Number{});
    }
    std::fill_n(Row(size.height) - side, border * line + kSlack, Number{});
  }
};

// Computes the maximum of each block of pool x pool positions. The maximum is NaN if a value is NaN. `x` has `pool`
// rows of columns * pool positions; `y` has one row of `columns` positions.
void MaxPool(const float* x, int columns, int64_t channels, int pool, float* y) {
  for (int column = 0; column < columns; ++column, y += channels) {
    const float* const first = x + int64_t{column} * pool * channels;
    std::copy_n(first, channels, y);
    for (int i = 1; i < pool * pool; ++i) {
      const float* const from = first + (int64_t{i / pool} * columns * pool + i % pool) * channels;
      for (int64_t c = 0; c < channels; ++c) y[c] = from[c] > y[c] || from[c] != from[c] ? from[c] : y[c];
    }
  }
}

// Computes the stem of one image. Rows of a map are computed when the next layer needs them, so that the next layer
// reads them from the L1 or L2 cache. Maps are fp32 or bf16; the result is fp32.
template <class Number>
class Passage {
 public:
  Passage(const Kernels& kernels, const std::vector<StemConvolution>& layers, const std::vector<MatrixPtr>& matrices,
          const ImagePlanes& image)
      : kernels_(kernels), layers_(layers), matrices_(matrices), image_(image) {
    MapSize size{image.height, image.width};
    int64_t channels = image.channels;
    for (size_t i = 0; i < layers.size(); ++i) {
      const program::Convolve& convolve = layers[i].convolve;
      const int cut = convolve.cut;
      maps_[i] = {
          .size = {size.height / cut * cut, size.width / cut * cut}, .channels = channels, .border = convolve.padding};
      size = program::ResultOf(convolve, size);
      channels = matrices[i]->outputs();
    }
    result_size_ = size;
  }

  // Returns the number of floats of the scratch: unpooled rows of a pooling layer, a rounded image row, and the maps.
  int64_t Floats() const {
    int64_t numbers = 0, band = 0;
    for (size_t i = 0; i < layers_.size(); ++i) {
      numbers += maps_[i].numbers();
      if (layers_[i].convolve.pool > 0) band = std::max(band, BandFloats(i));
    }
    return band + PlaneFloats() * maps_[0].channels + (numbers * kNumberBytes + kFloatBytes - 1) / kFloatBytes;
  }

  // Computes the result rows in the range `wanted`.
  void Run(float* scratch, Segment wanted, View<float> y) {
    if (wanted.count == 0) return;
    band_ = scratch;
    for (size_t i = 0; i < layers_.size(); ++i) {
      if (layers_[i].convolve.pool > 0) scratch = std::max(scratch, band_ + BandFloats(i));
    }
    planes_ = scratch;
    auto* numbers = reinterpret_cast<Number*>(planes_ + PlaneFloats() * maps_[0].channels);
    for (size_t i = 0; i < layers_.size(); ++i) {
      maps_[i].data = numbers;
      maps_[i].ClearBorder();
      numbers += maps_[i].numbers();
    }
    result_ = y;
    const int end = static_cast<int>(wanted.first + wanted.count);
    SkipTo(static_cast<int>(wanted.first));
    for (int made = static_cast<int>(wanted.first); made < end;) made = MakeBand(layers_.size(), end, made);
  }

  int result_rows() const { return result_size_.height; }

 private:
  static constexpr int64_t kFloatBytes = sizeof(float), kNumberBytes = sizeof(Number);
  static constexpr bool kIsNarrow = std::is_same_v<Number, cpu::Bf16>;

  MapSize SizeOf(size_t i) const { return i == layers_.size() ? result_size_ : maps_[i].size; }

  int64_t BandFloats(size_t i) const {
    const int pool = layers_[i].convolve.pool;
    return int64_t{pool} * pool * SizeOf(i + 1).width * matrices_[i]->outputs();
  }

  // Skips the map rows that are needed only for result rows before `row`.
  void SkipTo(int row) {
    for (size_t i = layers_.size(); i-- > 0;) {
      const program::Convolve& convolve = layers_[i].convolve;
      row = std::max(0, row * std::max(1, convolve.pool) * convolve.stride - convolve.padding);
      maps_[i].made = std::min(row, maps_[i].size.height);
    }
  }

  // Computes the rows of map i up to `last`, exclusive.
  void Make(size_t i, int last) {
    Map<Number>& map = maps_[i];
    last = std::min(last, map.size.height);
    while (map.made < last) {
      if (i == 0) {
        Interleave(map.made);
        ++map.made;
      } else {
        map.made = MakeBand(i, map.size.height, map.made);
      }
    }
  }

  // Computes some result rows of layer i - 1, from row `made` on; all are below `end`. Returns the next row to compute.
  int MakeBand(size_t i, int end, int made) {
    const program::Convolve& convolve = layers_[i - 1].convolve;
    const MapSize size = SizeOf(i);
    const int pool = std::max(1, convolve.pool);
    const int band = convolve.pool > 0 ? 1 : (kLeastPlaces + size.width - 1) / size.width;
    const int rows = std::min(band, end - made);
    Make(i - 1, ((made + rows) * pool - 1) * convolve.stride + convolve.kernel - convolve.padding);
    if (i == layers_.size()) {
      Convolve(
          i - 1, made, rows, size, [&](int row) { return result_.Row(int64_t{row} * size.width); }, result_.stride);
    } else {
      Convolve(
          i - 1, made, rows, size, [&](int row) { return maps_[i].Row(row); }, maps_[i].channels);
    }
    return made + rows;
  }

  // Prefetches a row of the image. The function is inlined, because the compiler drops a call that seems to have no
  // effect.
  [[gnu::always_inline]] void AskFor(int row) const {
    if (row >= maps_[0].size.height) return;
    for (int c = 0; c < image_.channels; ++c) {
      const float* const line = image_.data + (int64_t{c} * image_.height + row) * image_.width;
      for (int i = 0; i < image_.width; i += kLineFloats) __builtin_prefetch(line + i);
    }
  }

  void Interleave(int row) {
    AskFor(row + kRowsAhead);
    const Map<Number>& map = maps_[0];
    View<const float> planes = {image_.data + int64_t{row} * image_.width, map.channels, map.size.width,
                                int64_t{image_.height} * image_.width};
    if constexpr (kIsNarrow) {
      auto* const rounded = reinterpret_cast<Number*>(planes_);
      const int64_t stride = PlaneFloats() * kFloatBytes / kNumberBytes;
      const NarrowKernels& kernels = matrices_[0]->narrow()->kernels();
      kernels.take(planes, -1, reinterpret_cast<std::byte*>(rounded), PlaneFloats() * kFloatBytes, nullptr);
      Interleave(rounded, stride, map.Row(row));
    } else {
      Interleave(planes.data, planes.stride, map.Row(row));
    }
  }

  void Interleave(const Number* planes, int64_t stride, Number* to) const {
    const int64_t width = maps_[0].size.width;
    if (maps_[0].channels == 3) {
      const Number *const red = planes, *const green = planes + stride, *const blue = green + stride;
      for (int64_t column = 0; column < width; ++column) {
        to[3 * column] = red[column];
        to[3 * column + 1] = green[column];
        to[3 * column + 2] = blue[column];
      }
    } else {  // one channel
      std::copy_n(planes, width, to);
    }
  }

  // Returns the number of floats that hold one row of one channel in bf16; 0 for fp32 maps.
  int64_t PlaneFloats() const {
    return kIsNarrow ? (maps_[0].size.width * kNumberBytes + kFloatBytes - 1) / kFloatBytes : 0;
  }

  // Computes `rows` rows of layer i from row `first` on. `size` is the size of the layer's whole result, and `stride`
  // the distance between its positions.
  template <class RowOf>
  void Convolve(size_t i, int first, int rows, MapSize size, RowOf row_of, int64_t stride) {
    const program::Convolve& convolve = layers_[i].convolve;
    const Map<Number>& from = maps_[i];
    const Convolution<Number> convolution{*matrices_[i],   layers_[i].activation, convolve.kernel,
                                          convolve.stride, from.channels,         from.columns()};
    const int64_t channels = matrices_[i]->outputs(), panel_columns = convolution.panel_columns(kernels_);
    const int pool = std::max(1, convolve.pool);
    const int64_t places = int64_t{size.width} * pool;
    for (int64_t panel = 0; panel < channels; panel += panel_columns) {
      const int64_t columns = std::min(panel_columns, channels - panel);
      for (int row = 0; row < rows * pool; ++row) {
        const int top = (first * pool + row) * convolve.stride - convolve.padding;
        const Number* const corner = from.Row(top) - convolve.padding * from.channels;
        if (convolve.pool > 0) {
          convolution.RunPanel(kernels_, corner, places, panel, columns, band_ + row * places * channels, channels);
        } else {
          convolution.RunPanel(kernels_, corner, places, panel, columns, row_of(first + row), stride);
        }
      }
    }
    if constexpr (std::is_same_v<Number, float>) {
      if (convolve.pool > 0) MaxPool(band_, size.width, channels, pool, row_of(first));
    }
  }

  const Kernels& kernels_;
  const std::vector<StemConvolution>& layers_;
  const std::vector<MatrixPtr>& matrices_;  // by layer
  const ImagePlanes& image_;
  std::array<Map<Number>, kMostStemLayers> maps_;  // maps_[i]: input of layer i
  MapSize result_size_;
  View<float> result_;
  float* band_ = nullptr;
  float* planes_ = nullptr;
};

class Stem : public StepOf<StemStep> {
 public:
  Stem(const StemStep& step, std::vector<MatrixPtr> matrices) : StepOf(step), matrices_(std::move(matrices)) {}

  int64_t Scratch(const Frame& frame) const override {
    int64_t most = 0;
    for (const ImagePlanes& planes : frame.inputs()) {
      Pass(frame, planes, [&](auto passage) { most = std::max(most, passage.Floats()); });
    }
    return most;
  }

  StepCost CostOn(const Frame& frame) const override {
    StepCost cost = {
        .kind = StepKind::kConvolution, .precision = matrices_[0]->precision(), .outside_floats = frame.pixels()};
    for (const MatrixPtr& matrix : matrices_) cost.outside_floats += matrix->weight_floats();
    for (const ImagePlanes& planes : frame.inputs()) {
      MapSize size{planes.height, planes.width};
      for (size_t i = 0; i < matrices_.size(); ++i) {
        const program::Convolve& convolve = step_.layers[i].convolve;
        size = program::ResultOf(convolve, size);
        const int64_t pool = std::max(1, convolve.pool);
        cost.multiply_adds += int64_t{size.height} * size.width * pool * pool * matrices_[i]->weights();
      }
    }
    return cost;
  }

  void Run(const Frame& frame) const override {
    for (int image = 0; image < frame.images(); ++image) {
      Pass(frame, frame.inputs()[static_cast<size_t>(image)], [&](auto passage) {
        passage.Run(frame.scratch(), frame.Share(passage.result_rows()), frame.Of(step_.y, image));
      });
    }
  }

 private:
  // Calls use(passage) for one image. All layers have the same precision.
  template <class Use>
  void Pass(const Frame& frame, const ImagePlanes& planes, Use use) const {
    if (matrices_[0]->precision() == Precision::kBf16) {
      use(Passage<cpu::Bf16>(frame.kernels(), step_.layers, matrices_, planes));
    } else {
      use(Passage<float>(frame.kernels(), step_.layers, matrices_, planes));
    }
  }

  const std::vector<MatrixPtr> matrices_;  // by layer
};

}  // namespace

StepPtr MakeStem(const StemStep& step, std::vector<MatrixPtr> matrices) {
  return std::make_unique<Stem>(step, std::move(matrices));
}

}  // namespace vitrine::engine
