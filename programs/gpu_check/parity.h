// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PROGRAMS_GPU_CHECK_PARITY_H_
#define VITRINE_PROGRAMS_GPU_CHECK_PARITY_H_

#include "programs/gpu_check/setting.h"

namespace vitrine {

// Compares logits and attention matrices of the device with those of the CPU, in batches of mixed sizes: the smallest
// variant of every form in the zoo with random weights, and every published version with real pictures.
void CheckParity(const CheckSetting& setting, CheckReport& report);

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_GPU_CHECK_PARITY_H_
