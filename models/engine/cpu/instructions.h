// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_INSTRUCTIONS_H_
#define VITRINE_MODELS_ENGINE_CPU_INSTRUCTIONS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/simd/cpu_path.h"
#include "models/engine/cpu/kernels/kernels.h"
#include "models/engine/cpu/kernels/narrow_kernels.h"
#include "models/engine/precision.h"

namespace vitrine::engine {

// Kernels that compute a program in each precision. `bf16` or `int8` is null if the CPU lacks the instructions.
struct Instructions {
  const Kernels* fp32 = nullptr;
  const NarrowKernels* bf16 = nullptr;
  const NarrowKernels* int8 = nullptr;

  bool Multiplies(Precision precision) const;
  // Runs at least `multiply_adds` multiply-adds in registers at the peak rate of a core. Requires Multiplies.
  void MultiplyAdd(Precision precision, int64_t multiply_adds) const;
};

// Returns the kernels of `path`. FAILED_PRECONDITION if this CPU cannot run it.
absl::StatusOr<Instructions> FindInstructions(cpu::CpuPath path);

// Returns the path whose kernels compute `precision` if `path` is chosen. For fp32, all paths from AVX-512 on use the
// kernels of AVX-512.
cpu::CpuPath PathOf(cpu::CpuPath path, Precision precision);

// Returns FAILED_PRECONDITION if this CPU cannot run `path`, or if the path has no instructions for `precision`.
absl::Status CanCompute(Precision precision, cpu::CpuPath path);

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_INSTRUCTIONS_H_
