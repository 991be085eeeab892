// SPDX-License-Identifier: Apache-2.0
// Products of numbers narrower than fp32. Both operands are stored in 4-byte groups along the summed dimension: two
// bf16 or four int8 per group. One instruction multiplies two groups number by number and adds the products to a 32-bit
// sum. On a CPU without such an instruction for int8, a group is two int8, each stored in 16 bits.
#ifndef VITRINE_MODELS_ENGINE_CPU_KERNELS_NARROW_KERNELS_H_
#define VITRINE_MODELS_ENGINE_CPU_KERNELS_NARROW_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "common/simd/cpu_path.h"
#include "common/simd/view.h"
#include "models/engine/cpu/kernels/kernels.h"

namespace vitrine::engine {

inline constexpr int64_t kGroupBytes = 4;

// Quantization of an int8 row: a byte has the value least + step * byte. Each row has its own range, so that its bytes
// do not depend on other rows.
struct RowRange {
  float step;
  float least;
};

// y = residual + activation(a W^T + b) as in GemmCall, for rows of groups. Each element of y is a sum over one row of
// `a`. The sum starts at 0 and has a fixed order; the bias is added last. Each step of a bf16 sum adds two products to
// an fp32 sum and rounds like the CPU's instruction; int8 sums are exact integers.
struct NarrowGemmCall {
  const std::byte* a;
  int64_t a_stride;  // bytes between rows
  int64_t rows;
  int64_t groups;           // groups per part
  const RowRange* ranges;   // int8: one per row
  const std::byte* panels;  // see NarrowMatrix
  const float* bias;        // padded with zeros to whole vectors, like scale and sums
  const float* scale;       // int8: quantization step of the weights, by output
  const float* sums;        // int8: sum of weights times `scale`, by output
  int64_t columns;
  Activation activation;
  const float* residual;  // may be null
  int64_t residual_stride;
  float* y;           // null if the result is bf16 in `narrow`
  cpu::Bf16* narrow;  // with stride y_stride
  int64_t y_stride;
  int64_t parts = 1;
  int64_t part_stride = 0;  // bytes
  // Bytes between groups of a row. If this distance is larger than kGroupBytes, `a` has the layout of a panel
  // (PackPanels) whose outputs are the rows of `a`.
  int64_t group_stride = kGroupBytes;
};

// Kernels of one instruction set and one number type. No kernel allocates memory or takes locks.
struct NarrowKernels {
  bool of_bytes;         // true: int8; false: bf16
  int numbers_of_group;  // bf16: 2; int8: 4 or 2
  int vector_columns;    // outputs per vector
  int panel_columns;     // outputs of a register tile

  void (*gemm)(const NarrowGemmCall& call);
  // Converts each row of x to groups, and pads the last group of the row with zeros. If `epsilon` is not negative,
  // normalizes the rows first. For int8, each row has its own quantization step: 1/254 of the distance between the
  // least and the largest value of the row, but at least 2^-18 of the largest magnitude in the row.
  void (*take)(cpu::View<const float> x, float epsilon, std::byte* a, int64_t a_stride, RowRange* ranges);

  // Computes Kernels::depthwise with NarrowGelu. The products are fp32: each sum has only nine products, so packing the
  // operands would cost more time than narrow products save.
  void (*depthwise)(const cpu::DepthwiseCall& call);

  // The following three functions are for products of two activations; they are null for int8. pack_inputs packs x
  // [inputs, outputs], and pack_outputs packs x [outputs, inputs]. Both write panels of the right operand (see
  // PackPanels) in groups of two inputs; padding is zero.
  void (*pack_inputs)(cpu::View<const float> x, std::byte* panels);
  void (*pack_outputs)(cpu::View<const float> x, std::byte* panels);
  // Computes the softmax with base 2 of each row of scale * x + offsets, and writes the result as groups. There is one
  // offset per column. The columns of x must be padded to whole vectors; the offset of a padding column must be minus
  // infinity. Overwrites x.
  void (*softmax_rows)(cpu::View<float> x, float scale, const float* offsets, std::byte* a, int64_t a_stride);

  // Functions for peaks.h, as in Kernels.
  int64_t multiply_adds_of_round;
  float (*multiply_adds)(int64_t rounds);
};

// Return the kernels of `path` for one precision; null if this CPU lacks the instructions. The portable path always has
// kernels.
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
#elif defined(__aarch64__)
extern const NarrowKernels kNeonBf16Kernels;
extern const NarrowKernels kNeonInt8Kernels;
#endif

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_KERNELS_NARROW_KERNELS_H_
