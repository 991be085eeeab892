// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_SIMD_CHOSEN_PATH_H_
#define VITRINE_COMMON_SIMD_CHOSEN_PATH_H_

#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/simd/cpu_path.h"

// This header includes libraries, so kernels must not include it: inline functions of a library must not be compiled
// with the kernels' flags. Kernels include cpu_path.h instead.
namespace vitrine::cpu {

// Environment variable that selects the instruction set of the kernels (a CpuPath) by name.
inline constexpr char kIsaVariable[] = "VITRINE_ISA";

// Returns the path for this process's kernels: the path that VITRINE_ISA names, or the best path for this CPU if the
// variable is unset or empty. INVALID_ARGUMENT if VITRINE_ISA names no path. FAILED_PRECONDITION if this CPU cannot run
// the path.
absl::StatusOr<CpuPath> ChosenPath();

// Like ChosenPath, for the value `isa` of VITRINE_ISA. `supported`: the result of SupportedPaths().
absl::StatusOr<CpuPath> ChoosePath(absl::string_view isa, std::span<const CpuPath> supported);

}  // namespace vitrine::cpu

#endif  // VITRINE_COMMON_SIMD_CHOSEN_PATH_H_
