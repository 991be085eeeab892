// SPDX-License-Identifier: Apache-2.0
// Plain kernels of linear layers: y = residual + activation(n(x) W^T + b).
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_LINEAR_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_LINEAR_CUH_

#include "models/engine/cuda/kernels/rows.cuh"

namespace vitrine::cuda {

VITRINE_DEVICE void FinishLinear(const Matrix& residual, const Matrix& y, int row, int column, float value) {
  RowOf(y, row)[column] = residual.data == nullptr ? value : RowOf(residual, row)[column] + value;
}

// Computes each output as one sequence of multiply-adds over the row, starting with the bias.
VITRINE_KERNEL(vitrine_linear_fp32, LinearArguments) {
  const int outputs = arguments.y.columns;
  const Global<const float> weights(static_cast<const float*>(arguments.weights)), bias(arguments.bias);
  const Global<const RowStatistics> statistics(arguments.statistics);
  ForElements(Images(arguments.batch).Rows(arguments.x.rows), outputs, [&](int row, int column) {
    const Global<const float> x = RowOf(arguments.x, row);
    const bool has_norm = arguments.statistics != nullptr;
    RowStatistics norm = {};
    if (has_norm) norm = statistics[row];
    float sum = bias[column];
    for (int64_t k = 0; k < arguments.x.columns; ++k) {
      const float value = x[k];
      sum = Fma(has_norm ? (value - norm.center) * norm.scale : value, weights[k * outputs + column], sum);
    }
    FinishLinear(arguments.residual, arguments.y, row, column, ActivatedProduct(sum, arguments.activation, false));
  });
}

// Rounds both operands to bf16. Each sum starts at 0, and the bias is added last.
VITRINE_KERNEL(vitrine_linear_bf16, LinearArguments) {
  const int outputs = arguments.y.columns;
  const Global<const uint16_t> weights(static_cast<const uint16_t*>(arguments.weights));
  const Global<const float> bias(arguments.bias);
  const Global<const RowStatistics> statistics(arguments.statistics);
  ForElements(Images(arguments.batch).Rows(arguments.x.rows), outputs, [&](int row, int column) {
    const Global<const float> x = RowOf(arguments.x, row);
    const bool has_norm = arguments.statistics != nullptr;
    RowStatistics norm = {};
    if (has_norm) norm = statistics[row];
    float sum = 0;
    for (int64_t k = 0; k < arguments.x.columns; ++k) {
      const float value = x[k];
      const float left = RoundToBf16(has_norm ? (value - norm.center) * norm.scale : value);
      sum = Fma(left, FromBf16(weights[k * outputs + column]), sum);
    }
    const float value = ActivatedProduct(sum + bias[column], arguments.activation, true);
    FinishLinear(arguments.residual, arguments.y, row, column, value);
  });
}

// --- bytes (models/engine/cpu/kernels/narrow_rows_kernel.h)

inline constexpr float kByteSteps = 254, kMostSteps = 262144, kWholeBytes = 12582912;
inline constexpr float kLeastStep = 0x1p-126F;

// Quantization of a row. The byte of a number x is the lowest byte of the float x * inverse + offset. A byte stands for
// the number range.least + range.step * byte.
struct ByteGrid {
  float inverse, offset;
  ByteRange range;
};
// Returns a grid of at most 254 steps from `low` to `high`, the least and the largest number of a row.
VITRINE_DEVICE ByteGrid ByteGridOf(float low, float high) {
  const float size = high > -low ? high : -low;
  const float of_range = (high - low) / kByteSteps, of_size = size / kMostSteps;
  const float step = of_range > of_size ? of_range : of_size;
  const float inverse = step >= kLeastStep ? 1 / step : 0;
  const float offset = (0.5F - low * inverse) + kWholeBytes;
  return {inverse, offset, {step, (kWholeBytes - offset) * step}};
}
VITRINE_DEVICE uint8_t ByteOf(float value, const ByteGrid& grid) {
  return static_cast<uint8_t>(BitsOf(Fma(value, grid.inverse, grid.offset)) & 0xff);
}
// Converts the range of a row to the range of the normalized row, whose bytes are the same.
VITRINE_DEVICE ByteRange NormalizedRange(ByteRange range, RowStatistics norm) {
  return {range.step * norm.scale, (range.least - norm.center) * norm.scale};
}

// Writes the bytes of the row before normalization; the statistics affect only the range.
VITRINE_KERNEL(vitrine_quantize_rows, QuantizeArguments) {
  const Global<const RowStatistics> statistics(arguments.statistics);
  const Global<ByteRange> ranges(arguments.ranges);
  const Global<uint8_t> bytes(arguments.bytes);
  ForOutputs(Images(arguments.batch).Rows(arguments.x.rows), [&](int64_t row) {
    const Global<const float> x = RowOf(arguments.x, row);
    const int columns = arguments.x.columns;
    float low = x[0], high = x[0];
    for (int j = 0; j < columns; ++j) {
      low = Least(low, x[j]);
      high = Most(high, x[j]);
    }
    const ByteGrid grid = ByteGridOf(low, high);
    ranges[row] = arguments.statistics == nullptr ? grid.range : NormalizedRange(grid.range, statistics[row]);
    for (int j = 0; j < columns; ++j) bytes[row * columns + j] = ByteOf(x[j], grid);
  });
}

VITRINE_DEVICE float ValueOfBytes(int32_t sum, float scale, float sums, float bias, ByteRange range) {
  return Fma(static_cast<float>(sum) * scale, range.step, Fma(range.least, sums, bias));
}

VITRINE_KERNEL(vitrine_linear_int8, LinearBytesArguments) {
  const int outputs = arguments.y.columns;
  const Global<const uint8_t> bytes(arguments.bytes);
  const Global<const int8_t> weights(arguments.weights);
  const Global<const ByteRange> ranges(arguments.ranges);
  const Global<const float> bias(arguments.bias), scale(arguments.scale), sums(arguments.sums);
  ForElements(Images(arguments.batch).Rows(arguments.y.rows), outputs, [&](int row, int column) {
    int32_t sum = 0;
    for (int64_t k = 0; k < arguments.inputs; ++k) {
      sum += int32_t{bytes[int64_t{row} * arguments.inputs + k]} * int32_t{weights[k * outputs + column]};
    }
    const float value = ValueOfBytes(sum, scale[column], sums[column], bias[column], ranges[row]);
    FinishLinear(arguments.residual, arguments.y, row, column, ActivatedProduct(value, arguments.activation, true));
  });
}

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_LINEAR_CUH_
