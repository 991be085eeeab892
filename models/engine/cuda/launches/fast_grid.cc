// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/launches/fast_grid.h"

#include <cstdint>

#include "models/engine/cuda/kernels/fast/shapes.h"

namespace vitrine::cuda {
namespace {

bool IsAligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}
// True if each row is whole groups of four numbers that one access reads.
bool IsOfFours(const Matrix& matrix) {
  return matrix.columns % 4 == 0 && matrix.stride % 4 == 0 && IsAligned(matrix.data);
}

}  // namespace

KernelChoice Choose(const StatisticsArguments& /*arguments*/, bool fast) {
  return {.kernel = fast ? "vitrine_fast_row_statistics" : "vitrine_row_statistics"};
}

KernelChoice Choose(const AffineArguments& arguments, bool fast) {
  const bool suits = fast && arguments.statistics == nullptr && IsOfFours(arguments.x) && IsOfFours(arguments.y);
  return {.kernel = suits ? "vitrine_fast_affine" : "vitrine_affine"};
}

KernelChoice Choose(const ActivateArguments& arguments, bool fast) {
  const bool suits = fast && IsOfFours(arguments.x) && IsOfFours(arguments.y);
  return {.kernel = suits ? "vitrine_fast_activate" : "vitrine_activate"};
}

KernelChoice Choose(const AddArguments& arguments, bool fast) {
  const bool suits = fast && IsOfFours(arguments.x) && IsOfFours(arguments.z) && IsOfFours(arguments.y);
  return {.kernel = suits ? "vitrine_fast_add" : "vitrine_add"};
}

KernelChoice Choose(const FillArguments& arguments, bool fast) {
  return {.kernel = fast && IsOfFours(arguments.y) ? "vitrine_fast_fill" : "vitrine_fill"};
}

KernelChoice Choose(const CopyArguments& arguments, bool fast) {
  const bool suits = fast && IsOfFours(arguments.x) && IsOfFours(arguments.y);
  return {.kernel = suits ? "vitrine_fast_copy_rows" : "vitrine_copy_rows"};
}

KernelChoice Choose(const MeanArguments& /*arguments*/, bool fast) {
  if (!fast) return {.kernel = "vitrine_mean_of_cells"};
  return {.kernel = "vitrine_fast_mean_of_cells", .threads = 256, .shared_bytes = kMeanSharedBytes};
}

}  // namespace vitrine::cuda
