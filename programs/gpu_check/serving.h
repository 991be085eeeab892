// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PROGRAMS_GPU_CHECK_SERVING_H_
#define VITRINE_PROGRAMS_GPU_CHECK_SERVING_H_

#include "programs/gpu_check/setting.h"

namespace vitrine {

// Every published version is loaded onto the device, proves itself on its goldens, and all its tensors are there.
void CheckWeights(const CheckSetting& setting, CheckReport& report);

// Pictures of many shapes go through scheduler and executor in one batch; the answers are those of the CPU.
void CheckMixedBatch(const CheckSetting& setting, CheckReport& report);

// A second version is published while the first is in use: the registry swaps, and the first goes with its last user.
void CheckSwap(const CheckSetting& setting, CheckReport& report);

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_GPU_CHECK_SERVING_H_
