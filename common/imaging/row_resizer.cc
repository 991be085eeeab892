// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/row_resizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/imaging/byte_passes.h"
#include "common/imaging/per_processor.h"

namespace vitrine {
namespace {

constexpr int kLanes = 8;

double Triangle(double x) {
  return std::max(0.0, 1 - std::abs(x));
}

double Keys(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// Makes the filter for the outputs [from, from + outputs) of an axis that is resized from `in` to `out`.
ResizeFilter MakeFilter(int in, int out, int from, int outputs, v1::Interpolation interpolation, Rounding rounding) {
  const auto kernel = interpolation == v1::BICUBIC ? Keys : Triangle;
  const double radius = interpolation == v1::BICUBIC ? 2 : 1;
  const double scale = static_cast<double>(in) / out;
  const double stretch = std::max(1.0, scale);
  const double support = radius * stretch;
  const int most_taps = std::min(in, static_cast<int>(std::ceil(support)) * 2 + 1);
  ResizeFilter filter;
  filter.taps = (most_taps + kLanes - 1) / kLanes * kLanes;
  const bool fixed = rounding == v1::Preprocessing::PILLOW;
  const size_t weights = static_cast<size_t>(filter.taps) * outputs;
  if (fixed) {
    filter.fixed.resize(weights);
  } else {
    filter.weights.resize(weights);
  }
  filter.begin = in;
  std::vector<double> values(most_taps);
  for (int i = 0; i < outputs; ++i) {
    const double center = scale * (from + i + 0.5);
    // NOLINTBEGIN(bugprone-incorrect-roundings): Pillow also truncates, and the result must equal Pillow's
    const int first = std::max(0, static_cast<int>(center - support + 0.5));
    const int end = std::min(in, static_cast<int>(center + support + 0.5));
    // NOLINTEND(bugprone-incorrect-roundings)
    double sum = 0;
    const auto at = [&](int t) {
      // Pillow multiplies by the reciprocal, which may differ in the last bit.
      return fixed ? (t - center + 0.5) * (1 / stretch) : (t - center + 0.5) / stretch;
    };
    for (int t = first; t < end; ++t) sum += values[t - first] = kernel(at(t));
    const size_t row = static_cast<size_t>(i) * filter.taps;
    for (int t = 0; t < end - first; ++t) {
      if (fixed) {
        filter.fixed[row + t] = FixedWeight(values[t] / sum);
      } else {
        filter.weights[row + t] = static_cast<float>(values[t] / sum);
      }
    }
    filter.first.push_back(first);
    filter.count.push_back(end - first);
    filter.begin = std::min(filter.begin, first);
    filter.end = std::max(filter.end, end);
    filter.most_taps = std::max(filter.most_taps, end - first);
  }
  return filter;
}

// Adds kRows rows, each times its weight, to the sums, in the order of the rows. If kFirst, the sums start at zero.
template <typename T, int kRows, bool kFirst>
inline __attribute__((always_inline)) void AddFewRows(const T* const* rows, const float* weights, int width,
                                                      float* __restrict sums) {
  const T* row[kRows];
  float weight[kRows];
  std::copy_n(rows, kRows, row);
  std::copy_n(weights, kRows, weight);
  for (int x = 0; x < width; ++x) {
    float sum = kFirst ? 0.0f : sums[x];
    for (int r = 0; r < kRows; ++r) sum += weight[r] * static_cast<float>(row[r][x]);
    sums[x] = sum;
  }
}

template <typename T, bool kFirst>
inline __attribute__((always_inline)) void AddUpToFourRows(const T* const* rows, const float* weights, int count,
                                                           int width, float* sums) {
  if (count == 1) AddFewRows<T, 1, kFirst>(rows, weights, width, sums);
  if (count == 2) AddFewRows<T, 2, kFirst>(rows, weights, width, sums);
  if (count == 3) AddFewRows<T, 3, kFirst>(rows, weights, width, sums);
  if (count >= 4) AddFewRows<T, 4, kFirst>(rows, weights, width, sums);
}

// Computes sums[x] = weights[0] * row 0 at x + weights[1] * row 1 at x + ..., added in this order. Takes four rows at a
// time, so that the sums are loaded and stored a quarter as often.
template <typename T>
inline __attribute__((always_inline)) void AddRowsInline(const T* const* rows, const float* weights, int count,
                                                         int width, float* sums) {
  AddUpToFourRows<T, true>(rows, weights, count, width, sums);
  for (int t = 4; t < count; t += 4) AddUpToFourRows<T, false>(rows + t, weights + t, count - t, width, sums);
}

VITRINE_PER_PROCESSOR void AddRows(const uint8_t* const* rows, const float* weights, int count, int width,
                                   float* sums) {
  AddRowsInline(rows, weights, count, width, sums);
}

VITRINE_PER_PROCESSOR void AddRows(const float* const* rows, const float* weights, int count, int width, float* sums) {
  AddRowsInline(rows, weights, count, width, sums);
}

// Filters one row along x. A tap is an input times its weight. Tap t is added to sum t % 8, and the eight sums are
// added in the order below, like in FilterColours. `row` begins with the input at filter.begin, and has kLanes readable
// floats after the last input.
VITRINE_PER_PROCESSOR void FilterRow(const float* row, const ResizeFilter& filter, int outputs, float* out) {
  typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));
  for (int x = 0; x < outputs; ++x) {
    const float* in = row + (filter.first[x] - filter.begin);
    const float* weights = &filter.weights[static_cast<size_t>(x) * filter.taps];
    Lanes sums = {};
    for (int t = 0; t < filter.count[x]; t += kLanes) {
      Lanes values, factors;
      std::memcpy(&values, in + t, sizeof(values));
      std::memcpy(&factors, weights + t, sizeof(factors));
      sums += values * factors;
    }
    out[x] = ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
  }
}

// The three colours of a pixel, and a fourth float that is unused.
typedef float Colours __attribute__((vector_size(4 * sizeof(float))));

inline __attribute__((always_inline)) Colours Tap(const float* in, const float* weights, int t) {
  Colours colours;
  std::memcpy(&colours, in + ptrdiff_t{3} * t, sizeof(colours));
  return colours * weights[t];
}

// Returns the sum of one output's `count` taps (inputs times weights). kMost is 4 or 8 if no output has more than 4 or
// 8 taps, else 0. If kMost is not 0, the taps from kMost on, whose weights are 0, are left out. This does not change
// the bits: a sum of zeros does not become -0, because some weight is positive, and no input is -0.
template <int kMost>
inline __attribute__((always_inline)) Colours SumTaps(const float* in, const float* weights, int count) {
  const auto tap = [&](int t) __attribute__((always_inline)) {
    return Tap(in, weights, t);
  };
  if constexpr (kMost == 4) return (tap(0) + tap(1)) + (tap(2) + tap(3));
  if constexpr (kMost == 8) {
    return ((tap(0) + tap(4)) + (tap(1) + tap(5))) + ((tap(2) + tap(6)) + (tap(3) + tap(7)));
  }
  Colours s0 = {}, s1 = {}, s2 = {}, s3 = {}, s4 = {}, s5 = {}, s6 = {}, s7 = {};
  for (int t = 0; t < count; t += kLanes) {
    s0 += tap(t), s1 += tap(t + 1), s2 += tap(t + 2), s3 += tap(t + 3);
    s4 += tap(t + 4), s5 += tap(t + 5), s6 += tap(t + 6), s7 += tap(t + 7);
  }
  return ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7));
}

template <int kMost>
inline __attribute__((always_inline)) void FilterColoursInline(const float* row, const ResizeFilter& filter,
                                                               int outputs, float* out, ptrdiff_t plane) {
  for (int x = 0; x < outputs; ++x, ++out) {
    const float* in = row + ptrdiff_t{3} * (filter.first[x] - filter.begin);
    const Colours sum = SumTaps<kMost>(in, &filter.weights[static_cast<size_t>(x) * filter.taps], filter.count[x]);
    out[0] = sum[0];
    out[plane] = sum[1];
    out[2 * plane] = sum[2];
  }
}

// Gives the same bits as FilterRow on each of three interleaved channels, without separating the channels: each lane is
// a colour, and one multiplication weights all three colours of a pixel. `row` has 3 * kLanes + 1 readable floats after
// the last input.
VITRINE_PER_PROCESSOR void FilterColours(const float* row, const ResizeFilter& filter, int outputs, float* out,
                                         ptrdiff_t plane) {
  if (filter.most_taps <= 4) return FilterColoursInline<4>(row, filter, outputs, out, plane);
  if (filter.most_taps <= 8) return FilterColoursInline<8>(row, filter, outputs, out, plane);
  FilterColoursInline<0>(row, filter, outputs, out, plane);
}

}  // namespace

RowResizer::RowResizer(Size from, Size to, const Region& region, v1::Interpolation interpolation, Rounding rounding)
    : down_(MakeFilter(from.height, to.height, region.top, region.size.height, interpolation, rounding)),
      along_(MakeFilter(from.width, to.width, region.left, region.size.width, interpolation, rounding)),
      rounds_(rounding == v1::Preprocessing::PILLOW),
      down_first_(to.height < from.height && from.height - to.height > 2 * (from.width - to.width)),
      bytes_(down_.most_taps),
      floats_(down_.most_taps) {
  const size_t inputs = static_cast<size_t>(along_.end - along_.begin) * kMostChannels;
  if (!rounds_) {
    sums_.resize(inputs + kMostChannels * kLanes + 1);
    return;
  }
  const size_t outputs = along_.first.size() * kMostChannels;
  line_.resize(inputs + 1);
  passed_.resize(down_first_ ? inputs : outputs * down_.most_taps);
  held_.resize(down_.most_taps, -1);
  passed_rows_.resize(down_.most_taps);
  byte_sums_.resize(down_first_ ? inputs : outputs);
  byte_row_.resize(outputs);
}

// Does the vertical pass first, so that the horizontal pass filters only one row per output row, not every image row.
template <typename T>
void RowResizer::ResizeRows(int y, const T* const* rows, int channels, float* out, ptrdiff_t plane) {
  AddRows(rows, &down_.weights[static_cast<size_t>(y) * down_.taps], down_.count[y],
          (along_.end - along_.begin) * channels, sums_.data());
  if (channels == 1) {
    FilterRow(sums_.data(), along_, width(), out);
  } else {
    FilterColours(sums_.data(), along_, width(), out, plane);
  }
}

// Does the horizontal pass of each image row once, for all output rows that use it.
void RowResizer::AlongThenDown(int y, const uint8_t* const* rows, int channels) {
  for (int t = 0; t < down_.count[y]; ++t) {
    const int row = down_.first[y] + t;
    const int place = row % down_.most_taps;
    uint8_t* passed = &passed_[static_cast<size_t>(place) * width() * kMostChannels];
    if (held_[place] != row) {
      std::copy_n(rows[t], (along_.end - along_.begin) * channels, line_.data());
      FilterAlong(line_.data(), along_, channels, passed);
      held_[place] = row;
    }
    passed_rows_[t] = passed;
  }
  FilterDown(passed_rows_.data(), &down_.fixed[static_cast<size_t>(y) * down_.taps], down_.count[y], width() * channels,
             byte_sums_.data(), byte_row_.data());
}

void RowResizer::DownThenAlong(int y, const uint8_t* const* rows, int channels) {
  const int inputs = (along_.end - along_.begin) * channels;
  FilterDown(rows, &down_.fixed[static_cast<size_t>(y) * down_.taps], down_.count[y], inputs, byte_sums_.data(),
             passed_.data());
  std::copy_n(passed_.data(), inputs, line_.data());
  FilterAlong(line_.data(), along_, channels, byte_row_.data());
}

// Does both passes in Pillow's order, because the rounded result depends on the order. Pillow does the horizontal pass
// first. Since version 13, Pillow does the vertical pass first in one case: the vertical pass removes more than twice
// as many rows as the horizontal pass removes columns.
void RowResizer::ResizeBytes(int y, const uint8_t* const* rows, int channels, float* out, ptrdiff_t plane) {
  if (down_first_) {
    DownThenAlong(y, rows, channels);
  } else {
    AlongThenDown(y, rows, channels);
  }
  for (int c = 0; c < channels; ++c) {
    for (int x = 0; x < width(); ++x) out[c * plane + x] = byte_row_[static_cast<size_t>(x) * channels + c];
  }
}

template <typename T>
const T* const* RowResizer::RowsOf(int y, const T* image, ptrdiff_t stride, int channels,
                                   std::vector<const T*>& rows) const {
  for (int row = first_of(y); row < end_of(y); ++row) {
    rows[row - first_of(y)] = image + row * stride + static_cast<ptrdiff_t>(along_.begin) * channels;
  }
  return rows.data();
}

void RowResizer::Resize(int y, const uint8_t* const* rows, int channels, float* out, ptrdiff_t plane) {
  if (rounds_) return ResizeBytes(y, rows, channels, out, plane);
  ResizeRows(y, rows, channels, out, plane);
}

void RowResizer::Resize(int y, const Image& image, float* out, ptrdiff_t plane) {
  const ptrdiff_t stride = static_cast<ptrdiff_t>(image.width) * image.channels;
  Resize(y, RowsOf(y, image.pixels.data(), stride, image.channels, bytes_), image.channels, out, plane);
}

void RowResizer::Resize(int y, const FloatImage& image, float* out, ptrdiff_t plane) {
  const ptrdiff_t values = static_cast<ptrdiff_t>(image.size.height) * image.size.width;
  for (int c = 0; c < image.channels; ++c) {
    const float* from = image.values.data() + c * values;
    ResizeRows(y, RowsOf(y, from, image.size.width, 1, floats_), 1, out + c * plane, plane);
  }
}

}  // namespace vitrine
