// SPDX-License-Identifier: Apache-2.0
#include "imaging/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

// The loops below are compiled for AVX2 and for any processor; the loader picks one. Sanitizers run before the loader's
// choice is made, so they get the plain one. No fused multiply-add is used in either, hence equal bits.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__clang__)
#define VITRINE_PER_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define VITRINE_PER_PROCESSOR
#endif

namespace vitrine {
namespace {

constexpr int kLanes = 8;

// The inputs of each output along one axis, and their weights: output i is the sum over t of
// weights[i * taps + t] * input[first[i] + t]. `taps` is a multiple of kLanes; what a row of weights has to spare is 0.
struct Filter {
  int begin = 0;  // the inputs that any output reads: [begin, end)
  int end = 0;
  int taps = 0;
  std::vector<int> first;
  std::vector<int> count;  // inputs with a weight
  std::vector<float> weights;
};

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

// For the outputs [from, from + outputs) of an axis that is resized from `in` to `out`.
Filter MakeFilter(int in, int out, int from, int outputs, v1::Interpolation interpolation) {
  const auto kernel = interpolation == v1::BICUBIC ? Keys : Triangle;
  const double radius = interpolation == v1::BICUBIC ? 2 : 1;
  const double scale = static_cast<double>(in) / out;
  const double stretch = std::max(1.0, scale);
  const double support = radius * stretch;
  const int most_taps = std::min(in, static_cast<int>(std::ceil(support)) * 2 + 1);
  Filter filter;
  filter.taps = (most_taps + kLanes - 1) / kLanes * kLanes;
  filter.weights.resize(static_cast<size_t>(filter.taps) * outputs);
  filter.begin = in;
  for (int i = 0; i < outputs; ++i) {
    const double center = scale * (from + i + 0.5);
    // NOLINTBEGIN(bugprone-incorrect-roundings): Pillow cuts off as well, and its bits are wanted
    const int first = std::max(0, static_cast<int>(center - support + 0.5));
    const int end = std::min(in, static_cast<int>(center + support + 0.5));
    // NOLINTEND(bugprone-incorrect-roundings)
    double sum = 0;
    for (int t = first; t < end; ++t) sum += kernel((t - center + 0.5) / stretch);
    float* weights = &filter.weights[static_cast<size_t>(i) * filter.taps];
    for (int t = first; t < end; ++t) weights[t - first] = kernel((t - center + 0.5) / stretch) / sum;
    filter.first.push_back(first);
    filter.count.push_back(end - first);
    filter.begin = std::min(filter.begin, first);
    filter.end = std::max(filter.end, end);
  }
  return filter;
}

// sum[x] = weights[0] * row 0 at x + weights[1] * row 1 at x + ..., added in this order. Four rows at a time, so that
// the sums are loaded and stored a quarter as often.
template <typename T>
inline __attribute__((always_inline)) void AddRowsInline(const T* rows, ptrdiff_t stride, const float* weights,
                                                         int count, int width, float* __restrict sums) {
  std::fill_n(sums, width, 0.0f);
  int t = 0;
  for (; t + 4 <= count; t += 4, rows += 4 * stride) {
    const T* r0 = rows;
    const T* r1 = r0 + stride;
    const T* r2 = r1 + stride;
    const T* r3 = r2 + stride;
    const float w0 = weights[t], w1 = weights[t + 1], w2 = weights[t + 2], w3 = weights[t + 3];
    for (int x = 0; x < width; ++x) {
      float sum = sums[x];
      sum += w0 * static_cast<float>(r0[x]);
      sum += w1 * static_cast<float>(r1[x]);
      sum += w2 * static_cast<float>(r2[x]);
      sum += w3 * static_cast<float>(r3[x]);
      sums[x] = sum;
    }
  }
  for (; t < count; ++t, rows += stride) {
    const float w = weights[t];
    for (int x = 0; x < width; ++x) sums[x] += w * static_cast<float>(rows[x]);
  }
}

VITRINE_PER_PROCESSOR void AddRows(const uint8_t* rows, ptrdiff_t stride, const float* weights, int count, int width,
                                   float* sums) {
  AddRowsInline(rows, stride, weights, count, width, sums);
}

VITRINE_PER_PROCESSOR void AddRows(const float* rows, ptrdiff_t stride, const float* weights, int count, int width,
                                   float* sums) {
  AddRowsInline(rows, stride, weights, count, width, sums);
}

// One row along x. `row` holds the inputs from filter.begin on, and kLanes readable floats more than it needs.
VITRINE_PER_PROCESSOR void FilterRow(const float* row, const Filter& filter, int outputs, float* out) {
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

// Pixels as rows of `interleaved` channels, of which there may be several planes.
template <typename T>
struct Pixels {
  const T* data;
  Size size;
  int planes;
  int interleaved;
};

// Down the columns first: that pass reads whole rows at a time, and it leaves only the output's rows to the other.
template <typename T>
FloatImage ResizePixels(const Pixels<T>& in, Size size, const Region& region, v1::Interpolation interpolation) {
  const Filter down = MakeFilter(in.size.height, size.height, region.top, region.size.height, interpolation);
  const Filter along = MakeFilter(in.size.width, size.width, region.left, region.size.width, interpolation);
  const int channels = in.interleaved;
  const int columns = along.end - along.begin;
  const ptrdiff_t stride = static_cast<ptrdiff_t>(in.size.width) * channels;
  std::vector<float> sums(static_cast<size_t>(columns) * channels);
  std::vector<float> row(columns + 2 * kLanes);
  FloatImage out{in.planes * channels, region.size, {}};
  const size_t plane_values = static_cast<size_t>(region.size.height) * region.size.width;
  out.values.resize(out.channels * plane_values);
  for (int plane = 0; plane < in.planes; ++plane) {
    const T* pixels = in.data + plane * stride * in.size.height + static_cast<ptrdiff_t>(along.begin) * channels;
    for (int y = 0; y < region.size.height; ++y) {
      AddRows(pixels + down.first[y] * stride, stride, &down.weights[static_cast<size_t>(y) * down.taps], down.count[y],
              columns * channels, sums.data());
      for (int c = 0; c < channels; ++c) {
        for (int x = 0; x < columns; ++x) row[x] = sums[static_cast<size_t>(x) * channels + c];
        FilterRow(row.data(), along, region.size.width,
                  &out.values[(plane * channels + c) * plane_values + static_cast<size_t>(y) * region.size.width]);
      }
    }
  }
  return out;
}

}  // namespace

FloatImage ResizeRegion(const Image& image, Size size, const Region& region, v1::Interpolation interpolation) {
  return ResizePixels<uint8_t>({image.pixels.data(), {image.height, image.width}, 1, image.channels}, size, region,
                               interpolation);
}

FloatImage ResizeRegion(const FloatImage& image, Size size, const Region& region, v1::Interpolation interpolation) {
  return ResizePixels<float>({image.values.data(), image.size, image.channels, 1}, size, region, interpolation);
}

FloatImage Resize(const Image& image, Size size, v1::Interpolation interpolation) {
  return ResizeRegion(image, size, {0, 0, size}, interpolation);
}

FloatImage Resize(const FloatImage& image, Size size, v1::Interpolation interpolation) {
  return ResizeRegion(image, size, {0, 0, size}, interpolation);
}

}  // namespace vitrine
