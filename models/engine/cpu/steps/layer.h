// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_STEPS_LAYER_H_
#define VITRINE_MODELS_ENGINE_CPU_STEPS_LAYER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "models/engine/cpu/aligned_floats.h"
#include "models/engine/cpu/frame.h"
#include "models/engine/cpu/matrices/linear_matrix.h"

namespace vitrine::engine {

// Maximum number of rows of a left operand that are prepared in scratch at once, so that they stay in the L1 and L2
// caches.
inline constexpr int64_t kChunkRows = 70;

// Left operand of a product: fp32 rows, or rows of 4-byte groups (narrow_kernels.h).
struct LeftSide {
  View<const float> wide;
  const std::byte* groups = nullptr;
  int64_t stride = 0;  // bytes between rows of groups
  const RowRange* ranges = nullptr;
};

// Destination of rows: fp32, or bf16 if `wide` is null.
struct Result {
  float* wide = nullptr;
  cpu::Bf16* narrow = nullptr;
  int64_t stride = 0;  // in numbers, not bytes
};

// A layer that computes activation(n(x) W^T + b). With an epsilon, n normalizes rows to mean 0 and variance 1. If the
// layer needs scratch, Take accepts at most kChunkRows rows.
class Layer {
 public:
  Layer(std::shared_ptr<const LinearMatrix> matrix, std::optional<float> norm_epsilon, Activation activation)
      : matrix_(std::move(matrix)), norm_epsilon_(norm_epsilon), activation_(activation) {}

  const LinearMatrix& matrix() const { return *matrix_; }
  bool takes_bf16() const { return matrix_->precision() == Precision::kBf16; }

  // Returns the number of scratch floats that Take needs for a chunk.
  int64_t Scratch() const {
    if (const NarrowMatrix* const narrow = matrix_->narrow()) {
      return kRangeFloats + kChunkRows * RowBytes(*narrow) / int64_t{sizeof(float)};
    }
    return norm_epsilon_ ? kChunkRows * FloatStride(matrix_->inputs()) : 0;
  }

  LeftSide Take(const Kernels& kernels, View<const float> x, float* scratch) const {
    if (const NarrowMatrix* const narrow = matrix_->narrow()) {
      auto* const ranges = reinterpret_cast<RowRange*>(scratch);
      auto* const groups = reinterpret_cast<std::byte*>(scratch + kRangeFloats);
      narrow->kernels().take(x, norm_epsilon_.value_or(-1), groups, RowBytes(*narrow), ranges);
      return {.wide = {}, .groups = groups, .stride = RowBytes(*narrow), .ranges = ranges};
    }
    if (!norm_epsilon_) return {.wide = x};
    const View<float> normalized{scratch, x.rows, x.columns, FloatStride(x.columns)};
    kernels.normalize(x, *norm_epsilon_, normalized);
    return {.wide = normalized};
  }

  // Multiplies `rows` rows of the left operand and applies bias, activation and residual. `residual` is empty or has
  // `rows` rows. Only narrow products can write bf16.
  void Multiply(const Kernels& kernels, const LeftSide& left, int64_t rows, View<const float> residual,
                Result to) const {
    if (const NarrowMatrix* const narrow = matrix_->narrow()) {
      NarrowGemmCall call = narrow->Call();
      call.a = left.groups;
      call.a_stride = left.stride;
      call.rows = rows;
      call.ranges = left.ranges;
      call.activation = activation_;
      call.residual = residual.data;
      call.residual_stride = residual.stride;
      call.y = to.wide;
      call.narrow = to.narrow;
      call.y_stride = to.stride;
      narrow->kernels().gemm(call);
      return;
    }
    const PackedMatrix& wide = *matrix_->wide();
    kernels.gemm({.a = left.wide.data,
                  .a_stride = left.wide.stride,
                  .rows = rows,
                  .inner = wide.inputs(),
                  .panels = wide.panels(),
                  .bias = wide.bias(),
                  .columns = wide.outputs(),
                  .activation = activation_,
                  .residual = residual.data,
                  .residual_stride = residual.stride,
                  .y = to.wide,
                  .y_stride = to.stride});
  }

 private:
  // Number of floats for the RowRanges of a chunk, rounded up to whole cache lines. The groups after the ranges then
  // begin on a cache line, for fast loads of AMX tiles.
  static constexpr int64_t kRangeFloats =
      (kChunkRows * int64_t{sizeof(RowRange)} + 63) / 64 * 64 / int64_t{sizeof(float)};

  // Returns the distance between rows of groups in bytes, a multiple of 16 for fast vector loads.
  static int64_t RowBytes(const NarrowMatrix& narrow) { return RowStride((narrow.row_bytes() + 15) / 16 * 16); }

  const std::shared_ptr<const LinearMatrix> matrix_;
  const std::optional<float> norm_epsilon_;
  const Activation activation_;
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_STEPS_LAYER_H_
