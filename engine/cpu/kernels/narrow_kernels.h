// SPDX-License-Identifier: Apache-2.0
// Products of numbers narrower than fp32. Both sides lie in groups of four bytes along the sum, two bf16 or four bytes,
// which one instruction multiplies and adds to a sum of 32 bits. Where no instruction does so with bytes a group is two
// of them, in 16 bits each.
#ifndef VITRINE_ENGINE_CPU_KERNELS_NARROW_KERNELS_H_
#define VITRINE_ENGINE_CPU_KERNELS_NARROW_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "base/simd/cpu_path.h"
#include "base/simd/view.h"
#include "engine/cpu/kernels/kernels.h"

namespace vitrine::engine {

inline constexpr int64_t kGroupBytes = 4;

// What the bytes of a row stand for: least + step * byte. A row's own, so that it depends on no other.
struct RowRange {
  float step;
  float least;
};

// y = residual + activation(a W^T + b) as GemmCall, for rows of groups. Each element is one chain over its row, from 0,
// to which the bias is added at its end: of bf16 the CPU's own sum of two products and fp32, of bytes exact integers.
struct NarrowGemmCall {
  const std::byte* a;
  int64_t a_stride;  // bytes, from row to row
  int64_t rows;
  int64_t groups;           // of one part
  const RowRange* ranges;   // of bytes: one a row
  const std::byte* panels;  // see NarrowMatrix
  const float* bias;        // filled up with zeros to whole vectors, as the next two
  const float* scale;       // of bytes: what a weight's unit stands for, by output
  const float* sums;        // of bytes: each output's sum of weights
  int64_t columns;
  Activation activation;
  const float* residual;  // or null
  int64_t residual_stride;
  float* y;           // or null: the result goes, as bf16, to
  cpu::Bf16* narrow;  // whose rows are y_stride numbers apart as well
  int64_t y_stride;
  int64_t parts = 1;
  int64_t part_stride = 0;  // bytes
  // Bytes from group to group of a row. Where groups are apart, rows are as the columns of PackPanels: one group after
  // the other, filled up to whole vectors.
  int64_t group_stride = kGroupBytes;
};

// The kernels of one instruction set and one kind of number. No kernel takes memory or locks.
struct NarrowKernels {
  bool of_bytes;         // or of bf16
  int numbers_of_group;  // 2 of bf16; 4 bytes, or 2
  int vector_columns;    // outputs of one vector
  int panel_columns;     // outputs that one register tile has

  void (*gemm)(const NarrowGemmCall& call);
  // Rows of x as groups, filled up with zeros to a whole one; `epsilon` below 0, or as normalize makes them. Of bytes
  // a row has 254 steps from its least to its largest, or as many of 2^-18 of its largest size if these are longer.
  void (*take)(cpu::View<const float> x, float epsilon, std::byte* a, int64_t a_stride, RowRange* ranges);

  // As Kernels', with the GELU of a product. In fp32: a sum of nine has no rows of groups.
  void (*depthwise)(const cpu::DepthwiseCall& call);

  // Of bf16 alone, for products whose both sides are activations: x [inputs, outputs] or [outputs, inputs] as the
  // panels of a right side (see PackPanels), in groups of two inputs; what fills up a group or a vector is zero.
  void (*pack_inputs)(cpu::View<const float> x, std::byte* panels);
  void (*pack_outputs)(cpu::View<const float> x, std::byte* panels);
  // 2^(scale x + offset) of its column, of every row in parts of its sum, as groups. Columns are whole vectors; those
  // that do not count have an offset of minus infinity. x holds something else afterwards.
  void (*softmax_rows)(cpu::View<float> x, float scale, const float* offsets, std::byte* a, int64_t a_stride);

  // For peaks.h; see Kernels.
  int64_t multiply_adds_of_round;
  float (*multiply_adds)(int64_t rounds);
};

// Null where this CPU has no instruction for it beside those of `path`; the portable path has all.
const NarrowKernels* FindBf16Kernels(cpu::CpuPath path);
const NarrowKernels* FindInt8Kernels(cpu::CpuPath path);

extern const NarrowKernels kPortableBf16Kernels;
extern const NarrowKernels kPortableInt8Kernels;
#if defined(__x86_64__)
extern const NarrowKernels kAvx512Bf16Kernels;
extern const NarrowKernels kAvx512Int8Kernels;
extern const NarrowKernels kAvx2Int8Kernels;
extern const NarrowKernels kAvx2PairsKernels;
extern const NarrowKernels kAmxBf16Kernels;
extern const NarrowKernels kAmxInt8Kernels;
#endif

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_KERNELS_NARROW_KERNELS_H_
