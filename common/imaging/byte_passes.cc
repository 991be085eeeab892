// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/byte_passes.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "common/imaging/per_processor.h"

namespace vitrine {
namespace {

constexpr int kFixedBits = 22;
constexpr int32_t kFixedHalf = 1 << (kFixedBits - 1);

typedef int32_t FourSums __attribute__((vector_size(4 * sizeof(int32_t))));

inline __attribute__((always_inline)) uint8_t ByteOf(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kFixedBits, 0, 255));
}

// Implements FilterAlong for 3 channels. Each vector lane is a colour; the fourth lane has the next pixel's red and is
// unused.
VITRINE_PER_PROCESSOR void FilterColoursAlong(const int32_t* row, const ResizeFilter& filter, int outputs,
                                              uint8_t* out) {
  for (int x = 0; x < outputs; ++x, out += 3) {
    const int32_t* in = row + ptrdiff_t{3} * (filter.first[x] - filter.begin);
    const int32_t* weights = &filter.fixed[static_cast<size_t>(x) * filter.taps];
    FourSums sums = {kFixedHalf, kFixedHalf, kFixedHalf, kFixedHalf};
    for (int t = 0; t < filter.count[x]; ++t) {
      FourSums colours;
      std::memcpy(&colours, in + ptrdiff_t{3} * t, sizeof(colours));
      sums += colours * weights[t];
    }
    for (int c = 0; c < 3; ++c) out[c] = ByteOf(sums[c]);
  }
}

VITRINE_PER_PROCESSOR void FilterGreyAlong(const int32_t* row, const ResizeFilter& filter, int outputs, uint8_t* out) {
  for (int x = 0; x < outputs; ++x) {
    const int32_t* in = row + (filter.first[x] - filter.begin);
    const int32_t* weights = &filter.fixed[static_cast<size_t>(x) * filter.taps];
    int32_t sum = kFixedHalf;
    for (int t = 0; t < filter.count[x]; ++t) sum += in[t] * weights[t];
    out[x] = ByteOf(sum);
  }
}

}  // namespace

int32_t FixedWeight(double weight) {
  return static_cast<int32_t>(weight * (1 << kFixedBits) + (weight < 0 ? -0.5 : 0.5));
}

void FilterAlong(const int32_t* row, const ResizeFilter& filter, int channels, uint8_t* out) {
  const int outputs = static_cast<int>(filter.first.size());
  if (channels == 1) return FilterGreyAlong(row, filter, outputs, out);
  FilterColoursAlong(row, filter, outputs, out);
}

VITRINE_PER_PROCESSOR void FilterDown(const uint8_t* const* rows, const int32_t* weights, int count, int width,
                                      int32_t* __restrict sums, uint8_t* __restrict out) {
  std::fill_n(sums, width, kFixedHalf);
  for (int t = 0; t < count; ++t) {
    const uint8_t* row = rows[t];
    const int32_t weight = weights[t];
    for (int x = 0; x < width; ++x) sums[x] += row[x] * weight;
  }
  for (int x = 0; x < width; ++x) out[x] = ByteOf(sums[x]);
}

}  // namespace vitrine
