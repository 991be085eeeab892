// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_SIMD_VIEW_H_
#define VITRINE_COMMON_SIMD_VIEW_H_

#include <cstdint>

namespace vitrine::cpu {

// A bfloat16 number: the upper half of a float's bits.
enum class Bf16 : uint16_t {};

// A view of a matrix, without ownership: element (i, j) is data[i * stride + j]. The header of each kernel states the
// required alignment, and whether the kernel uses the elements between `columns` and `stride`.
//
// Members are forced inline, because files compiled for other instruction sets include this header. The linker would
// keep a single copy of an ordinary inline function for all files, perhaps with instructions that the CPU lacks.
template <typename T>
struct View {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t stride = 0;

  [[gnu::always_inline]] T* Row(int64_t row) const { return data + row * stride; }
  [[gnu::always_inline]] operator View<const T>() const { return {data, rows, columns, stride}; }
};

}  // namespace vitrine::cpu

#endif  // VITRINE_COMMON_SIMD_VIEW_H_
