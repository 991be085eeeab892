// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_SIMD_CHOSEN_PATH_H_
#define VITRINE_BASE_SIMD_CHOSEN_PATH_H_

#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/simd/cpu_path.h"

// Apart from cpu_path.h, which kernels include: no inline function of a library may be compiled with their flags.
namespace vitrine::cpu {

// The environment variable that forces a path, by its name.
inline constexpr char kIsaVariable[] = "VITRINE_ISA";

// The path that kernels of this process are taken from: what VITRINE_ISA says, or the best of this CPU where it is
// unset or empty. INVALID_ARGUMENT where it is no path's name, FAILED_PRECONDITION where this CPU cannot run it.
absl::StatusOr<CpuPath> ChosenPath();

// The same without the environment. `supported` as SupportedPaths() has them.
absl::StatusOr<CpuPath> ChoosePath(absl::string_view isa, std::span<const CpuPath> supported);

}  // namespace vitrine::cpu

#endif  // VITRINE_BASE_SIMD_CHOSEN_PATH_H_
