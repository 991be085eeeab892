// SPDX-License-Identifier: Apache-2.0
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/engine/cuda/kernels/fast/linear_tiles.h"
#include "models/engine/cuda/launches/fast_kernels.h"

namespace vitrine::cuda {
namespace {

constexpr int kInputsInStep = 16;  // divides `inputs`; each output's weights are then aligned to 16 bytes

int RowBytes(int columns, Precision precision) {
  return columns * (precision == Precision::kInt8 ? 1 : 2);
}

template <int kWidth>
void SetTiles(Launch& launch) {
  launch.threads = PerceptronTiles<kWidth>::kThreads;
  launch.shared_bytes = PerceptronTiles<kWidth>::kSharedBytes;
}

}  // namespace

FastLinearArguments FastArguments(const engine::LinearStep& step, const Batch& batch, const Matrix& x, const Matrix& y,
                                  const Matrix& residual) {
  const bool is_short = RowBytes(x.columns, step.matrix.precision) <= LinearTiles::kLongest;
  return {.batch = batch,
          .x = x,
          .y = y,
          .residual = residual,
          .normalizes = step.norm_epsilon.has_value() && is_short,
          .epsilon = step.norm_epsilon.value_or(0),
          .activation = step.activation};
}

bool HasFastLinear(const engine::LinearStep& step) {
  const auto& [inputs, outputs, precision] = std::tie(step.matrix.inputs, step.matrix.outputs, step.matrix.precision);
  if (precision == Precision::kFp32 || inputs % kInputsInStep != 0 || outputs % kWideFloats != 0) return false;
  return precision != Precision::kInt8 || inputs <= LinearTiles::kLongest;
}

bool SuitsFastLinear(const engine::LinearStep& step, const FastLinearArguments& arguments) {
  return HasFastLinear(step) && HasWideRows(arguments.x) && HasWideRows(arguments.y) && HasWideRows(arguments.residual);
}

bool HasNarrowHidden(const engine::PerceptronStep& step) {
  const auto is_bf16 = [](const engine::LinearStep& layer) {
    return layer.matrix.precision == Precision::kBf16 && HasFastLinear(layer);
  };
  return is_bf16(step.first) && is_bf16(step.second) && !step.second.norm_epsilon;
}

void SetWeights(FastLinearArguments& arguments, const DeviceMatrix& matrix) {
  arguments.weights = matrix.precision == Precision::kInt8 ? static_cast<const void*>(matrix.int8) : matrix.bf16;
  arguments.bias = matrix.bias;
  arguments.scale = matrix.scale;
  arguments.sums = matrix.sums;
}

Launch FastLinear(std::string step, const FastLinearArguments& arguments, Precision precision) {
  const bool bytes = precision == Precision::kInt8, loaded = !bytes && !arguments.normalizes;
  const int row_bytes = RowBytes(arguments.x.columns, precision);
  const std::string kernel = absl::StrCat("vitrine_fast_linear_", bytes ? "int8_" : "bf16_");
  const std::string rows =
      row_bytes > LinearTiles::kLongest ? std::string("long") : absl::StrCat(LinearTiles::Rows(row_bytes, loaded));
  Launch launch = MakeLaunch(std::move(step), kernel + rows, arguments);
  launch.threads = LinearTiles::kThreads;
  launch.shared_bytes = static_cast<size_t>(LinearTiles::SharedBytes(row_bytes, loaded));
  return launch;
}

bool SuitsFastLinear(const LinearArguments& arguments) {
  const Matrix &x = arguments.x, &y = arguments.y;
  if (x.columns % kWideFloats != 0 || y.columns % kWideFloats != 0) return false;
  return HasWideRows(x) && HasWideRows(y) && HasWideRows(arguments.residual);
}

Launch FastLinear(std::string step, const LinearArguments& arguments) {
  Launch launch = MakeLaunch(std::move(step), "vitrine_fast_linear_fp32", arguments);
  launch.threads = LinearFp32Tiles::kThreads;
  launch.shared_bytes = LinearFp32Tiles::kSharedBytes;
  return launch;
}

PerceptronArguments FastArguments(const engine::PerceptronStep& step, const Batch& batch, const Matrix& x,
                                  const Matrix& y, const Matrix& residual) {
  return {.batch = batch,
          .x = x,
          .y = y,
          .residual = residual,
          .normalizes = step.first.norm_epsilon.has_value(),
          .epsilon = step.first.norm_epsilon.value_or(0),
          .hidden = static_cast<int>(step.first.matrix.outputs),
          .activation = step.first.activation};
}

bool SuitsFastPerceptron(const engine::PerceptronStep& step, const PerceptronArguments& arguments) {
  const engine::LinearStep &first = step.first, &second = step.second;
  const Matrix &x = arguments.x, &y = arguments.y;
  if (first.matrix.precision != Precision::kBf16 || second.matrix.precision != Precision::kBf16) return false;
  const bool has_kernel = x.columns == 128 || x.columns == 192 || x.columns == 256;
  if (!has_kernel || y.columns != x.columns || arguments.hidden % kWeightRows != 0) return false;
  return second.activation == Activation::kNone && HasWideRows(x) && HasWideRows(y) && HasWideRows(arguments.residual);
}

void SetWeights(PerceptronArguments& arguments, const DeviceMatrix& first, const DeviceMatrix& second) {
  arguments.first_weights = first.bf16;
  arguments.first_bias = first.bias;
  arguments.second_weights = second.bf16;
  arguments.second_bias = second.bias;
}

Launch FastPerceptron(std::string step, const PerceptronArguments& arguments) {
  const int width = arguments.x.columns;
  Launch launch = MakeLaunch(std::move(step), absl::StrCat("vitrine_fast_perceptron_", width), arguments);
  if (width == 128) SetTiles<128>(launch);
  if (width == 192) SetTiles<192>(launch);
  if (width == 256) SetTiles<256>(launch);
  return launch;
}

}  // namespace vitrine::cuda
