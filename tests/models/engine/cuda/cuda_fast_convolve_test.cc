// SPDX-License-Identifier: Apache-2.0
// Compares the fast convolutions of stems with the plain kernel. The kernels differ only in the order in which they sum
// bf16 products.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/simd/bf16.h"
#include "models/engine/cuda/kernels/fast/shapes.h"
#include "models/engine/cuda/launches/packed_convolution.h"
#include "models/engine/cuda/launches/stem.h"
#include "tests/models/engine/cuda/kernel_batch.h"

namespace vitrine::testing {
namespace {

using cuda::Activation;
using cuda::ConvolveArguments;
using cuda::MapRows;
using cuda::emulated::MachineOptions;
using program::Convolve;
using program::MapSize;

struct LayerForm {
  Convolve convolve;
  int channels, outputs;
  bool of_pixels, narrow_y;
  Activation activation = Activation::kGelu;
};
std::string NameOf(const LayerForm& form) {
  return absl::StrCat(form.of_pixels ? "pixels " : "map ", form.channels, " to ", form.outputs, ", kernel ",
                      form.convolve.kernel, form.narrow_y ? ", bf16" : "");
}

float Rounded(float value) {
  return cpu::ToFloat(cpu::ToBf16(value));
}

// A convolution of a batch of images or feature maps.
class OneLayer {
 public:
  OneLayer(const LayerForm& form, const std::vector<Grid>& grids, const MachineOptions& machine = {})
      : form_(form), batch_(grids, machine, form.channels) {
    std::vector<MapRows> from, to;
    int64_t inputs = 0;
    for (const Grid& grid : grids) {
      const MapSize size = program::ResultOf(form.convolve, {grid.rows, grid.columns});
      from.push_back({inputs, grid.rows, grid.columns});
      to.push_back({places_, size.height, size.width});
      inputs += grid.cells();
      places_ += int64_t{size.height} * size.width;
    }
    from.push_back({inputs, 0, 0});
    to.push_back({places_, 0, 0});
    const int kernel = form.convolve.kernel, each = kernel * kernel * form.channels;
    weights_ = {batch_.Numbers(static_cast<size_t>(form.outputs * each)), batch_.Numbers(size_t(form.outputs))};
    x_ = batch_.Numbers(static_cast<size_t>(inputs * form.channels));
    if (!form.of_pixels) std::transform(x_.begin(), x_.end(), x_.begin(), Rounded);
    arguments_ = {.batch = batch_.batch(),
                  .x = batch_.Copy(x_),
                  .from = form.of_pixels ? nullptr : batch_.buffers().Copy(from),
                  .to = batch_.buffers().Copy(to),
                  .y = nullptr,
                  .y_stride = form.narrow_y ? form.outputs : form.outputs + 6,
                  .weights = nullptr,
                  .bias = batch_.Copy(weights_.bias),
                  .channels = form.channels,
                  .outputs = form.outputs,
                  .kernel = kernel,
                  .stride = form.convolve.stride,
                  .padding = form.convolve.padding,
                  .pool = 0,
                  .cut = form.convolve.cut,
                  .activation = form.activation,
                  .narrow = true,
                  .rounds = form.narrow_y};
  }

  void Spoil(size_t number) {
    x_[number] = NAN;
    arguments_.x = batch_.Copy(x_);
  }

  std::vector<float> Plain() {
    const size_t each = weights_.weight.size() / weights_.bias.size(), outputs = weights_.bias.size();
    std::vector<float> transposed(weights_.weight.size());
    for (size_t i = 0; i < transposed.size(); ++i) {
      transposed[i] = Rounded(weights_.weight[i % outputs * each + i / outputs]);
    }
    ConvolveArguments arguments = arguments_;
    arguments.weights = batch_.Copy(transposed);
    arguments.y = NewRows();
    batch_.Run("vitrine_convolve", arguments);
    return Rows(arguments.y);
  }

  std::vector<float> Fast() {
    const cuda::PackedConvolution packed(weights_, form_.convolve.kernel, form_.channels, form_.of_pixels);
    cuda::FastConvolveArguments arguments = {.layer = arguments_,
                                             .x = nullptr,
                                             .y = nullptr,
                                             .weights = batch_.buffers().Copy(packed.weights),
                                             .taps = batch_.buffers().Copy(packed.taps),
                                             .steps = packed.steps};
    if (!form_.of_pixels) {
      std::vector<uint16_t> narrow;
      for (const float value : x_) narrow.push_back(static_cast<uint16_t>(cpu::ToBf16(value)));
      arguments.x = batch_.buffers().Copy(narrow);
    }
    const auto count = static_cast<size_t>(places_ * form_.outputs);
    if (form_.narrow_y) {
      arguments.y = batch_.buffers().Allocate<uint16_t>(count);
    } else {
      arguments.layer.y = NewRows();
    }
    batch_.Run(cuda::KernelOf(arguments), arguments, 128, cuda::kGeluTableBytes);
    if (!form_.narrow_y) return Rows(arguments.layer.y);
    std::vector<float> values;
    for (const uint16_t bits : batch_.Read<uint16_t>(arguments.y, count)) {
      values.push_back(cpu::ToFloat(static_cast<cpu::Bf16>(bits)));
    }
    return values;
  }

 private:
  float* NewRows() { return batch_.buffers().Allocate<float>(static_cast<size_t>(places_ * arguments_.y_stride)); }
  std::vector<float> Rows(const float* from) {
    const std::vector<float> all = batch_.Read<float>(from, static_cast<size_t>(places_ * arguments_.y_stride));
    std::vector<float> rows;
    for (size_t i = 0; i < all.size(); ++i) {
      if (static_cast<int64_t>(i) % arguments_.y_stride < form_.outputs) rows.push_back(all[i]);
    }
    return rows;
  }

  const LayerForm form_;
  KernelBatch batch_;
  int64_t places_ = 0;
  engine::LinearWeights weights_;
  std::vector<float> x_;
  ConvolveArguments arguments_ = {};
};

constexpr Convolve kHalving = {.kernel = 3, .stride = 2, .padding = 1};
const std::vector<LayerForm> kLayerForms = {
    {{.kernel = 3, .stride = 2, .padding = 1, .cut = 4}, 3, 16, true, true},
    {kHalving, 3, 24, true, true, Activation::kRelu},
    {kHalving, 1, 32, true, false, Activation::kNone},
    {{.kernel = 4, .stride = 2, .padding = 1}, 3, 8, true, true},
    {kHalving, 16, 32, false, true},
    {kHalving, 24, 48, false, true},
    {kHalving, 8, 64, false, false, Activation::kNone},
    {{.kernel = 4, .stride = 2, .padding = 1}, 32, 16, false, true},
    {{.kernel = 1, .stride = 1, .padding = 0}, 40, 40, false, false},
};
const std::vector<Grid> kImages = {{8, 12}, {9, 7}, {4, 5}, {16, 8}};

TEST(CudaFastConvolve, IsCloseToThePlainKernel) {
  for (const LayerForm& form : kLayerForms) {
    const std::vector<float> plain = OneLayer(form, kImages).Plain();
    for (const cuda::emulated::RoundingModel rounding : cuda::emulated::kRoundingModels) {
      const std::vector<float> fast = OneLayer(form, kImages, {.rounding = rounding}).Fast();
      ASSERT_EQ(fast.size(), plain.size()) << NameOf(form);
      for (size_t i = 0; i < fast.size(); ++i) {
        const double allowed = 2e-4 + (form.narrow_y ? std::abs(plain[i]) / 128 : 0);
        ASSERT_NEAR(fast[i], plain[i], allowed) << NameOf(form) << ", number " << i;
      }
    }
  }
}

TEST(CudaFastConvolve, BitsDoNotDependOnTheBatch) {
  for (const LayerForm& form : kLayerForms) {
    const std::vector<float> batch = OneLayer(form, kImages).Fast();
    EXPECT_TRUE(SameBits(OneLayer(form, kImages, {.seed = 2, .sms = 1}).Fast(), batch)) << NameOf(form);
    EXPECT_TRUE(SameBits(OneLayer(form, kImages, {.seed = 3, .sms = 132}).Fast(), batch)) << NameOf(form);
    // Computes the first image alone. It has the same pixels as in the batch, because its pixels are the first random
    // numbers.
    const std::vector<float> alone = OneLayer(form, {kImages[0]}).Fast();
    EXPECT_EQ(std::memcmp(alone.data(), batch.data(), alone.size() * sizeof(float)), 0) << NameOf(form);
  }
}

TEST(CudaFastConvolve, PropagatesNan) {
  for (const LayerForm& form : {kLayerForms[0], kLayerForms[4]}) {
    const auto count = [&](const std::vector<float>& values) {
      return std::count_if(values.begin(), values.end(), [](float value) { return std::isnan(value); });
    };
    OneLayer plain(form, kImages), fast(form, kImages);
    plain.Spoil(21);
    fast.Spoil(21);
    const auto expected = count(plain.Plain());
    EXPECT_GT(expected, 0);
    EXPECT_EQ(count(fast.Fast()), expected) << NameOf(form);
  }
}

TEST(CudaStem, MemorySufficesForTheMapsOfAnyBatch) {
  const std::vector<std::vector<Convolve>> stems = {
      {{.kernel = 3, .stride = 2, .padding = 1, .cut = 8}, kHalving, kHalving},
      {kHalving, kHalving, kHalving},
      {{.kernel = 4, .stride = 2, .padding = 1}, {.kernel = 4, .stride = 2, .padding = 1}},
      {{.kernel = 7, .stride = 4, .padding = 3}, {.kernel = 3, .stride = 1, .padding = 1, .pool = 2}}};
  constexpr int kCell = 8, kChannels = 3;
  for (const std::vector<Convolve>& stem : stems) {
    for (const auto& [height, width] : {std::pair(8, 8), {9, 9}, {8, 800}, {15, 17}, {224, 224}, {801, 9}}) {
      for (const int images : {1, 7}) {
        const cuda::BatchLimits limits = {
            .images = images, .cells = 1, .pixels = int64_t{images} * kChannels * height * width};
        const std::vector<int64_t> most = cuda::MostPlaces(stem, kChannels, kCell, limits);
        MapSize size = {height, width};
        for (size_t i = 0; i < stem.size(); ++i) {
          size = program::ResultOf(stem[i], size);
          const int64_t places = int64_t{images} * size.height * size.width;
          EXPECT_GE(most[i], places) << height << " x " << width << ", layer " << i;
          // Leaves out the last map. Its size is limited by BatchLimits::cells, because it has one position per cell.
          if (height == 224 && i + 1 < stem.size()) {
            EXPECT_LE(most[i], places * 7 / 5) << "layer " << i;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace vitrine::testing
