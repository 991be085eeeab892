// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_SIMD_CPU_DESCRIPTION_H_
#define VITRINE_COMMON_SIMD_CPU_DESCRIPTION_H_

#include <string>

namespace vitrine::cpu {

// Returns this CPU's name and numbers from CPUID, for logs: "AMD EPYC 9B14, family 25, model 17". Returns "portable" on
// architectures other than x86.
std::string CpuDescription();

}  // namespace vitrine::cpu

#endif  // VITRINE_COMMON_SIMD_CPU_DESCRIPTION_H_
