// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cpu/instructions.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace vitrine::engine {

bool Instructions::Multiplies(Precision precision) const {
  switch (precision) {
    case Precision::kFp32:
      return fp32 != nullptr;
    case Precision::kBf16:
      return bf16 != nullptr;
    case Precision::kInt8:
      return int8 != nullptr;
  }
  return false;
}

void Instructions::MultiplyAdd(Precision precision, int64_t multiply_adds) const {
  const auto run = [&](const auto& kernels) {
    kernels.multiply_adds(multiply_adds / kernels.multiply_adds_of_round + 1);
  };
  if (precision == Precision::kFp32) {
    run(*fp32);
  } else {
    run(precision == Precision::kBf16 ? *bf16 : *int8);
  }
}

absl::StatusOr<Instructions> FindInstructions(cpu::CpuPath path) {
  const Kernels* const kernels = FindKernels(path);
  if (kernels == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("this CPU cannot run the kernels of ", cpu::Name(path)));
  }
  return Instructions{.fp32 = kernels, .bf16 = FindBf16Kernels(path), .int8 = FindInt8Kernels(path)};
}

cpu::CpuPath PathOf(cpu::CpuPath path, Precision precision) {
  return precision == Precision::kFp32 ? std::min(path, cpu::CpuPath::kAvx512) : path;
}

absl::Status CanCompute(Precision precision, cpu::CpuPath path) {
  ASSIGN_OR_RETURN(const Instructions instructions, FindInstructions(path));
  if (instructions.Multiplies(precision)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("this CPU has no instructions for products in ", Name(precision), " on the path ", cpu::Name(path),
                   " (bf16 needs AVX512_BF16 or AMX, or BF16 of Arm; int8 needs AVX512_VNNI with AVX-512, or AVX2 with "
                   "VITRINE_ISA=avx2, or ASIMDDP of Arm)"));
}

}  // namespace vitrine::engine
