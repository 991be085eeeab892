// SPDX-License-Identifier: Apache-2.0
#include "trainer/augment/mixing.h"

#include <ATen/ops/full.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "trainer/augment/distributions.h"

namespace vitrine {
namespace {

// Random values of a batch.
struct Draw {
  double lambda = 1;  // weight of the image itself; its partner has 1 - lambda
  bool cut = false;
  double centre_x = 0, centre_y = 0;  // centre of CutMix's rectangle, as fractions of the sides
};

// Draws the values of a batch. Always draws four random numbers before lambda, whatever the settings are.
Draw DrawFor(const v1::Mixing& mixing, CounterRandom& random) {
  Draw draw;
  const bool mixes = random.Uniform() < (mixing.has_probability() ? mixing.probability() : 1);
  const bool cuts = random.Uniform() < (mixing.has_switch_to_cutmix() ? mixing.switch_to_cutmix() : 0.5);
  draw.centre_x = random.Uniform();
  draw.centre_y = random.Uniform();
  if (!mixes || !Mixes(mixing)) return draw;
  draw.cut = mixing.cutmix_alpha() > 0 && (cuts || mixing.mixup_alpha() <= 0);
  draw.lambda = DrawSymmetricBeta(draw.cut ? mixing.cutmix_alpha() : mixing.mixup_alpha(), random);
  return draw;
}

struct Span {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// Returns the rectangle's range along a side.
Span CutOf(int64_t side, double centre, double lambda) {
  const auto length = static_cast<int64_t>(static_cast<double>(side) * std::sqrt(1 - lambda));
  const auto middle = static_cast<int64_t>(centre * static_cast<double>(side));
  return {std::max<int64_t>(0, middle - length / 2), std::min(side, middle + (length + 1) / 2)};
}

void BlendPair(const at::Tensor& first, const at::Tensor& second, double lambda) {
  const auto own = static_cast<float>(lambda), other = static_cast<float>(1 - lambda);
  float *a = first.data_ptr<float>(), *b = second.data_ptr<float>();
  for (int64_t i = 0; i < first.numel(); ++i) {
    const float x = a[i], y = b[i];
    a[i] = own * x + other * y;
    b[i] = own * y + other * x;
  }
}

void SwapRectangle(const at::Tensor& first, const at::Tensor& second, Span rows, Span columns) {
  const int64_t height = first.size(1), width = first.size(2);
  float *a = first.data_ptr<float>(), *b = second.data_ptr<float>();
  for (int64_t channel = 0; channel < first.size(0); ++channel) {
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      const int64_t row = (channel * height + y) * width;
      std::swap_ranges(a + row + columns.begin, a + row + columns.end, b + row + columns.begin);
    }
  }
}

// Mixes the images [first, end), which have the same size. Returns lambda: the share that each image keeps.
double MixRun(const Draw& draw, const ImageBatch& images, int64_t first, int64_t end) {
  const int64_t height = images[first].size(1), width = images[first].size(2);
  const Span rows = CutOf(height, draw.centre_y, draw.lambda), columns = CutOf(width, draw.centre_x, draw.lambda);
  for (int64_t i = first, j = end - 1; i < j; ++i, --j) {
    if (draw.cut) {
      SwapRectangle(images[i], images[j], rows, columns);
    } else {
      BlendPair(images[i], images[j], draw.lambda);
    }
  }
  if (!draw.cut) return draw.lambda;
  return 1 - static_cast<double>(rows.size() * columns.size()) / static_cast<double>(height * width);
}

}  // namespace

bool Mixes(const v1::Mixing& mixing) {
  return mixing.mixup_alpha() > 0 || mixing.cutmix_alpha() > 0;
}

void MixBatch(const v1::Mixing& mixing, double label_smoothing, int classes, CounterRandom& random,
              TrainingBatch& batch) {
  const Draw draw = DrawFor(mixing, random);
  const auto images = static_cast<int64_t>(batch.images.size());
  batch.targets = at::full({images, classes}, label_smoothing / classes, at::kFloat);
  float* targets = batch.targets.data_ptr<float>();
  const int64_t* labels = batch.labels.const_data_ptr<int64_t>();
  for (int64_t first = 0, end; first < images; first = end) {
    for (end = first + 1; end < images && batch.images[end].sizes() == batch.images[first].sizes();) ++end;
    const double kept = draw.lambda < 1 ? MixRun(draw, batch.images, first, end) : 1;
    for (int64_t i = first; i < end; ++i) {
      const int64_t partner = first + end - 1 - i;
      targets[i * classes + labels[i]] += static_cast<float>((1 - label_smoothing) * kept);
      targets[i * classes + labels[partner]] += static_cast<float>((1 - label_smoothing) * (1 - kept));
    }
  }
}

}  // namespace vitrine
