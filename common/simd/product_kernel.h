// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_SIMD_PRODUCT_KERNEL_H_
#define VITRINE_COMMON_SIMD_PRODUCT_KERNEL_H_

#include <cstdint>

// Templates for files that are compiled for one instruction set; see gelu.h.
namespace vitrine::cpu {

// A small fp32 matrix product on strided operands: y[i, j] = sum over k of a(i, k) * b[k, j]. Operands may have any
// alignment; y overlaps neither a nor b. Each sum is added in the order of k.
struct ProductCall {
  const float* a;
  int64_t a_row;    // distance in floats from a(i, k) to a(i + 1, k)
  int64_t a_inner;  // distance in floats from a(i, k) to a(i, k + 1)
  const float* b;
  int64_t b_stride;  // distance in floats from b[k, j] to b[k + 1, j]
  int64_t rows;
  int64_t inner;
  int64_t columns;
  float* y;
  int64_t y_stride;
};

// Computes one tile, with its kRows x kVectors sums in registers. The last vector has `last` columns.
template <class V, int kRows, int kVectors>
[[gnu::always_inline]] inline void ProductTile(const ProductCall& call, int64_t row, int64_t column, int64_t last) {
  typename V::Reg sums[kRows][kVectors];
  for (auto& of_row : sums) {
    for (auto& sum : of_row) sum = V::Broadcast(0);
  }
  const bool part = last < V::kLanes;
  const float* a = call.a + row * call.a_row;
  const float* b = call.b + column;
  for (int64_t k = 0; k < call.inner; ++k, a += call.a_inner, b += call.b_stride) {
    typename V::Reg values[kVectors];
    for (int v = 0; v + 1 < kVectors; ++v) values[v] = V::Load(b + v * V::kLanes);
    const float* const tail = b + (kVectors - 1) * V::kLanes;
    values[kVectors - 1] = part ? V::LoadPart(tail, last) : V::Load(tail);
    for (int r = 0; r < kRows; ++r) {
      const auto factor = V::Broadcast(a[r * call.a_row]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = V::Fma(factor, values[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    float* const y = call.y + (row + r) * call.y_stride + column;
    for (int v = 0; v + 1 < kVectors; ++v) V::Store(y + v * V::kLanes, sums[r][v]);
    float* const tail = y + (kVectors - 1) * V::kLanes;
    if (part) {
      V::StorePart(tail, sums[r][kVectors - 1], last);
    } else {
      V::Store(tail, sums[r][kVectors - 1]);
    }
  }
}

template <class V, int kVectors>
void ProductColumns(const ProductCall& call, int64_t column, int64_t last) {
  constexpr int kRows = V::kRegisters == 32 ? 8 : 4;
  int64_t row = 0;
  for (; row + kRows <= call.rows; row += kRows) ProductTile<V, kRows, kVectors>(call, row, column, last);
  if (kRows > 4 && row + 4 <= call.rows) {
    ProductTile<V, 4, kVectors>(call, row, column, last);
    row += 4;
  }
  if (row + 2 <= call.rows) {
    ProductTile<V, 2, kVectors>(call, row, column, last);
    row += 2;
  }
  for (; row < call.rows; ++row) ProductTile<V, 1, kVectors>(call, row, column, last);
}

// Computes the product of `call`.
template <class V>
void RunProduct(const ProductCall& call) {
  constexpr int64_t kWidest = 3 * V::kLanes;
  for (int64_t column = 0; column < call.columns; column += kWidest) {
    const int64_t columns = call.columns - column < kWidest ? call.columns - column : kWidest;
    const int64_t vectors = (columns + V::kLanes - 1) / V::kLanes;
    const int64_t last = columns - (vectors - 1) * V::kLanes;
    if (vectors == 3) {
      ProductColumns<V, 3>(call, column, last);
    } else if (vectors == 2) {
      ProductColumns<V, 2>(call, column, last);
    } else {
      ProductColumns<V, 1>(call, column, last);
    }
  }
}

}  // namespace vitrine::cpu

#endif  // VITRINE_COMMON_SIMD_PRODUCT_KERNEL_H_
