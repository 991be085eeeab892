// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_SIMD_CPU_DESCRIPTION_H_
#define VITRINE_BASE_SIMD_CPU_DESCRIPTION_H_

#include <string>

namespace vitrine::cpu {

// This CPU by its own name and numbers, for logs: "AMD EPYC 9B14, family 25, model 17". Asks the CPU and reads no file.
// "portable" where it is no x86.
std::string CpuDescription();

}  // namespace vitrine::cpu

#endif  // VITRINE_BASE_SIMD_CPU_DESCRIPTION_H_
