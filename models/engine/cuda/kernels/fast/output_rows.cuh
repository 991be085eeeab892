// SPDX-License-Identifier: Apache-2.0
// Activation and storage of the outputs that a lane holds after a product.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_OUTPUT_ROWS_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_OUTPUT_ROWS_CUH_

#include "models/engine/cuda/kernels/batch.cuh"
#include "models/engine/cuda/kernels/fast/gelu.cuh"

namespace vitrine::cuda {

// Applies the activation to the values place(0) to place(kCount - 1). Branches once for all values, not once per value,
// so that the latencies of the values overlap.
template <int kCount, class Place>
VITRINE_DEVICE void ActivateAll(const GeluTable& gelu, Activation activation, Place place) {
  if (activation == Activation::kGelu) {
    VITRINE_UNROLL
    for (int i = 0; i < kCount; ++i) place(i) = gelu.Of(place(i));
  } else if (activation == Activation::kQuickGelu) {
    VITRINE_UNROLL
    for (int i = 0; i < kCount; ++i) place(i) = QuickGelu(place(i));
  } else if (activation == Activation::kRelu) {
    VITRINE_UNROLL
    for (int i = 0; i < kCount; ++i) place(i) = Most(0, place(i));
  }
}

// Four outputs of a lane per row, for kRows rows.
template <int kRows>
struct Outputs {
  float v[kRows][4];

  VITRINE_DEVICE void Activate(const GeluTable& gelu, Activation activation) {
    ActivateAll<4 * kRows>(gelu, activation, [&](int i) -> float& { return v[i / 4][i % 4]; });
  }
};

// Positions in y of the outputs of a lane. The lane has kRows rows (first, first + 8, ...) and skips rows from `end`
// on. In each row, it has four columns at a time, at `column` plus an offset. Number is float, or uint16_t if y is
// bf16. If y is bf16, there is no residual. To hide the latency of memory, each call of AddResidual loads the residual
// that the next call will add; the constructor loads the first one.
template <int kRows, class Number>
class OutputRows {
 public:
  VITRINE_DEVICE OutputRows(const Matrix& residual, const Matrix& y, int first, int end, int column)
      : rows_left_(end - first),
        columns_left_(y.columns - column),
        y_step_(8 * y.stride),
        residual_step_(8 * residual.stride),
        y_(ViewAs<Number>(Global<float>(y.data)) + (first * y.stride + column)),
        residual_(Global<const float>(residual.data)) {
    if (residual_ != nullptr) residual_ = residual_ + (first * residual.stride + column);
    LoadResidual(0);
  }

  // Returns true if column `column` + `offset` exists in y.
  VITRINE_DEVICE bool Has(int offset) const { return offset < columns_left_; }

  // Adds the residual that the constructor or the previous call loaded. Then loads the residual at column offset
  // `next`.
  VITRINE_DEVICE void AddResidual(Outputs<kRows>& outputs, int next) {
    if (sizeof(Number) != sizeof(float) || residual_ == nullptr) return;
    VITRINE_UNROLL
    for (int i = 0; i < 4 * kRows; ++i) outputs.v[i / 4][i % 4] = added_[i / 4].v[i % 4] + outputs.v[i / 4][i % 4];
    LoadResidual(next);
  }

  VITRINE_DEVICE void Store(const Outputs<kRows>& outputs, int offset) const {
    VITRINE_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const float(&v)[4] = outputs.v[r];
      if (8 * r >= rows_left_) continue;
      const Global<Number> to = y_ + (r * y_step_ + offset);
      if constexpr (sizeof(Number) == sizeof(float)) {
        ViewAs<Float4>(to)[0] = {{v[0], v[1], v[2], v[3]}};
      } else {
        ViewAs<Words2>(to)[0] = {{PackBf16(v[0], v[1]), PackBf16(v[2], v[3])}};
      }
    }
  }

 private:
  VITRINE_DEVICE void LoadResidual(int offset) {
    if (sizeof(Number) != sizeof(float) || residual_ == nullptr || !Has(offset)) return;
    VITRINE_UNROLL
    for (int r = 0; r < kRows; ++r) {
      if (8 * r < rows_left_) added_[r] = ViewAs<const Float4>(residual_ + (r * residual_step_ + offset))[0];
    }
  }

  const int rows_left_, columns_left_;
  const int64_t y_step_, residual_step_;
  const Global<Number> y_;
  Global<const float> residual_;
  Float4 added_[kRows] = {};
};

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_OUTPUT_ROWS_CUH_
