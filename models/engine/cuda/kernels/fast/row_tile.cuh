// SPDX-License-Identifier: Apache-2.0
// Rows of activations that a block loads into shared memory for tensor cores, as bf16 or bytes.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_ROW_TILE_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_ROW_TILE_CUH_

#include "models/engine/cuda/kernels/linear.cuh"

namespace vitrine::cuda {

// Rows in shared memory. Distances are in 16-bit words.
struct RowTile {
  Shared<uint16_t> data;
  int stride;
  int rows;   // rows of the tile; rows beyond the batch are undefined
  int width;  // words per row, padded with zeros
};

// kRows rows in a warp's registers. The number of columns is a multiple of 16 and at most 32 * kValues; with kExact, it
// is 32 * kValues. Lane l has columns l, l + 32, ..., so a warp loads adjacent columns at once. Each lane sums the same
// columns in the same order as one lane of SumOfRow's vectors, so sums are bit-identical to those of the plain kernels.
template <int kRows, int kValues, bool kExact = false>
struct WarpRows {
  const int lane = Opaque(Lane());
  float v[kRows][kValues];

  // Loads row `end` - 1 in place of each row with index `end` or above.
  VITRINE_DEVICE void Load(const Matrix& x, int first, int end) {
    VITRINE_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const Global<const float> row = RowOf(x, first + r < end ? first + r : end - 1) + lane;
      VITRINE_UNROLL
      for (int i = 0; i < kValues; ++i) v[r][i] = kExact || i * kWarp + lane < x.columns ? row[i * kWarp] : 0;
    }
  }

  // Each lane passes one value per row. Combines the values of all lanes for each row, in the order of AcrossLanes.
  // Returns the result for row row_of_lane(). At each step, a lane that has several rows passes half of them to another
  // lane.
  template <class Combine>
  VITRINE_DEVICE float Across(float (&values)[kRows], Combine combine) const {
    VITRINE_UNROLL
    for (int half = kRows / 2; half > 0; half /= 2) {
      const int mask = kWarp * half / kRows;
      const bool upper = (lane & mask) != 0;
      VITRINE_UNROLL
      for (int r = 0; r < half; ++r) {
        const float handed = ShuffleXor(upper ? values[r] : values[r + half], mask);
        values[r] = combine(upper ? values[r + half] : values[r], handed);
      }
    }
    VITRINE_UNROLL
    for (int mask = kWarp / kRows / 2; mask > 0; mask /= 2) {
      values[0] = combine(values[0], ShuffleXor(values[0], mask));
    }
    return values[0];
  }
  VITRINE_DEVICE float SumAcross(float (&sums)[kRows]) const {
    return Across(sums, [](float a, float b) { return a + b; });
  }
  VITRINE_DEVICE int row_of_lane() const { return lane / (kWarp / kRows); }
  // Returns the `value` of the lanes whose row_of_lane() is `row`.
  static VITRINE_DEVICE float OfRow(float value, int row) { return Shuffle(value, row * (kWarp / kRows)); }

  // Computes the statistics of row row_of_lane(), with the same bits as vitrine_row_statistics.
  VITRINE_DEVICE RowStatistics Describe(int columns, float epsilon) const {
    float sums[kRows];
    VITRINE_UNROLL
    for (int r = 0; r < kRows; ++r) {
      sums[r] = 0;
      VITRINE_UNROLL
      for (int i = 0; i < kValues; ++i) sums[r] += v[r][i];
    }
    const float center = SumAcross(sums) / static_cast<float>(columns);
    VITRINE_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const float of_row = OfRow(center, r);
      sums[r] = 0;
      VITRINE_UNROLL
      for (int i = 0; i < kValues; ++i) {
        const float distance = v[r][i] - of_row;
        if (kExact || i * kWarp + lane < columns) sums[r] += distance * distance;
      }
    }
    return {center, 1 / Root(SumAcross(sums) / static_cast<float>(columns) + epsilon)};
  }
};

// Functions by which a block of kThreads threads loads rows.
template <int kThreads>
struct RowLoads {
  // Divides the rows of the tile into groups of kRows, and calls act(first row of the group) for this warp's groups.
  template <int kRows, class Act>
  static VITRINE_DEVICE void ForRowGroups(int rows, Act act) {
    for (int row = Opaque(Thread()) / kWarp * kRows; row < rows; row += kThreads / kWarp * kRows) act(row);
  }

  // Loads rows of at most 32 * kValues columns, normalizes them, and rounds them to bf16.
  template <int kValues, bool kExact>
  static VITRINE_DEVICE void LoadNormalized(const Matrix& x, float epsilon, int first, int end, const RowTile& to) {
    constexpr int kRows = kValues > 8 ? 32 / kValues : kValues > 4 ? 4 : 8;
    ForRowGroups<kRows>(to.rows, [&](int row) {
      WarpRows<kRows, kValues, kExact> x_rows;
      x_rows.Load(x, first + row, end);
      const RowStatistics of_lane = x_rows.Describe(x.columns, epsilon);
      VITRINE_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const RowStatistics norm = {x_rows.OfRow(of_lane.center, r), x_rows.OfRow(of_lane.scale, r)};
        VITRINE_UNROLL
        for (int i = 0; i < kValues; ++i) {
          const int column = i * kWarp + x_rows.lane;
          if (!kExact && column >= to.width) continue;
          const bool valid = kExact || column < x.columns;
          const float value = valid ? (x_rows.v[r][i] - norm.center) * norm.scale : 0;
          to.data[(row + r) * to.stride + column] = static_cast<uint16_t>(PackBf16(value, 0) & 0xffff);
        }
      }
    });
  }

  // Returns the smaller number, or NaN if either is NaN.
  static VITRINE_DEVICE float LeastOrNan(float a, float b) { return b < a || b != b ? b : a; }

  // Quantizes rows of at most 32 * kValues columns, with the same bits as vitrine_quantize_rows. The range of a row is
  // stored after its bytes. The range of a row that contains NaN is not defined, and may differ from the plain
  // kernel's.
  template <int kValues>
  static VITRINE_DEVICE void LoadBytes(const Matrix& x, bool normalizes, float epsilon, int first, int end,
                                       const RowTile& to) {
    constexpr int kRows = kValues > 8 ? 32 / kValues : 4;
    const Shared<uint8_t> bytes = ViewAs<uint8_t>(to.data);
    ForRowGroups<kRows>(to.rows, [&](int row) {
      WarpRows<kRows, kValues> x_rows;
      x_rows.Load(x, first + row, end);
      float low[kRows], negative[kRows];  // minimum, and negated maximum
      VITRINE_UNROLL
      for (int r = 0; r < kRows; ++r) {
        low[r] = negative[r] = FloatOf(0x7f800000);
        VITRINE_UNROLL
        for (int i = 0; i < kValues; ++i) {
          if (i * kWarp + x_rows.lane >= x.columns) continue;
          low[r] = LeastOrNan(low[r], x_rows.v[r][i]);
          negative[r] = LeastOrNan(negative[r], -x_rows.v[r][i]);
        }
      }
      const float least = x_rows.Across(low, LeastOrNan), most = -x_rows.Across(negative, LeastOrNan);
      ByteGrid grid = ByteGridOf(least, most);
      if (normalizes) grid.range = NormalizedRange(grid.range, x_rows.Describe(x.columns, epsilon));
      if (x_rows.lane % (kWarp / kRows) == 0) {
        ViewAs<ByteRange>(to.data + ((row + x_rows.row_of_lane()) * to.stride + to.width))[0] = grid.range;
      }
      VITRINE_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const ByteGrid of_row = {x_rows.OfRow(grid.inverse, r), x_rows.OfRow(grid.offset, r), {}};
        VITRINE_UNROLL
        for (int i = 0; i < kValues; ++i) {
          const int column = i * kWarp + x_rows.lane;
          if (column >= 2 * to.width) continue;
          bytes[2 * (row + r) * to.stride + column] = column < x.columns ? ByteOf(x_rows.v[r][i], of_row) : uint8_t{0};
        }
      }
    });
  }

  // --- loads that need no sums over a row; a thread loads 8 columns, aligned to 16 bytes

  static VITRINE_DEVICE Words4 PackRow(const Float4& low, const Float4& high) {
    return {{PackBf16(low.v[0], low.v[1]), PackBf16(low.v[2], low.v[3]), PackBf16(high.v[0], high.v[1]),
             PackBf16(high.v[2], high.v[3])}};
  }

  // Loads columns of x, starting at `column`, and rounds them to bf16; normalizes them if there are statistics. A
  // thread has four rows in flight.
  static VITRINE_DEVICE void LoadRounded(const Matrix& x, Global<const RowStatistics> statistics, int first, int end,
                                         int column, const RowTile& to) {
    constexpr int kAcross = 16, kAtOnce = 4;  // threads per row, and rows in flight
    const int thread = Opaque(Thread()), step = kThreads / kAcross;
    for (int begin = thread % kAcross * 8; begin < to.width; begin += kAcross * 8) {
      for (int group = thread / kAcross; group < to.rows; group += kAtOnce * step) {
        Float4 low[kAtOnce] = {}, high[kAtOnce] = {};
        VITRINE_UNROLL
        for (int i = 0; i < kAtOnce; ++i) {
          const int row = first + group + i * step;
          if (row >= end || column + begin >= x.columns) continue;
          const Global<const Float4> from = ViewAs<const Float4>(RowOf(x, row) + (column + begin));
          low[i] = from[0];
          high[i] = from[1];
        }
        VITRINE_UNROLL
        for (int i = 0; i < kAtOnce; ++i) {
          const int row = group + i * step;
          if (row >= to.rows) continue;
          if (statistics != nullptr && first + row < end && column + begin < x.columns) {
            const RowStatistics norm = statistics[first + row];
            VITRINE_UNROLL
            for (int j = 0; j < 4; ++j) low[i].v[j] = (low[i].v[j] - norm.center) * norm.scale;
            VITRINE_UNROLL
            for (int j = 0; j < 4; ++j) high[i].v[j] = (high[i].v[j] - norm.center) * norm.scale;
          }
          ViewAs<Words4>(to.data + (row * to.stride + begin))[0] = PackRow(low[i], high[i]);
        }
      }
    }
  }

  // Starts to copy the columns of `x` from index `column` on. `x` must be bf16 in memory.
  static VITRINE_DEVICE void CopyRows(const Matrix& x, int first, int end, int column, const RowTile& to) {
    constexpr int kAcross = 8;  // threads per row
    const int thread = Opaque(Thread()), step = kThreads / kAcross, begin = thread % kAcross * 8;
    const Global<const uint16_t> none = NarrowRowOf(x, first);
    Global<const uint16_t> from = NarrowRowOf(x, first + thread / kAcross) + (column + begin);
    for (int row = thread / kAcross; row < to.rows; row += step) {
      const Shared<uint16_t> to_row = to.data + (row * to.stride + begin);
      const int columns_left = first + row < end ? x.columns - column - begin : 0;
      for (int at = 0; at < to.width - begin; at += kAcross * 8) {
        CopyAsync(to_row + at, at < columns_left ? from + at : none, at < columns_left);
      }
      from = from + step * x.stride;
    }
  }

  // Starts to load columns of rows into the L2 cache, from `column` up to `columns_end`.
  static VITRINE_DEVICE void PrefetchRows(const Matrix& x, int first, int end, int column, int columns_end) {
    constexpr int kLine = 32, kAcross = 8;  // floats, and threads per row
    const int thread = Opaque(Thread());
    for (int row = first + thread / kAcross; row < end; row += kThreads / kAcross) {
      const Global<const float> from = RowOf(x, row);
      for (int at = column + thread % kAcross * kLine; at < columns_end; at += kAcross * kLine) Prefetch(from + at);
    }
  }
};

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_ROW_TILE_CUH_
