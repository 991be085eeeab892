// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_INSTRUCTIONS_H_
#define VITRINE_ENGINE_CPU_INSTRUCTIONS_H_

#include "absl/status/statusor.h"
#include "base/simd/cpu_path.h"
#include "engine/cpu/kernels/kernels.h"
#include "engine/cpu/kernels/narrow_kernels.h"
#include "engine/precision.h"

namespace vitrine::engine {

// What a program is computed with: the kernels of fp32, and those of narrower numbers, null where the CPU has none.
struct Instructions {
  const Kernels* fp32 = nullptr;
  const NarrowKernels* bf16 = nullptr;
  const NarrowKernels* int8 = nullptr;

  bool Multiplies(Precision precision) const;
};

// FAILED_PRECONDITION where this CPU cannot run `path`.
absl::StatusOr<Instructions> FindInstructions(cpu::CpuPath path);

// The path whose kernels multiply in `precision` where `path` was chosen: those of fp32 are the same from AVX-512 on.
cpu::CpuPath PathOf(cpu::CpuPath path, Precision precision);

// FAILED_PRECONDITION where this CPU cannot run `path`, or has no instructions for products of that precision beside
// it.
absl::Status CanCompute(Precision precision, cpu::CpuPath path);

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_INSTRUCTIONS_H_
