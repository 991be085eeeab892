// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_PEAKS_H_
#define VITRINE_ENGINE_CPU_PEAKS_H_

#include <cstdint>

#include "engine/cpu/kernels/kernels.h"

namespace vitrine::engine {

// Does so many multiply-adds of fp32 in registers, or a little more, as fast as this path can on one core.
void MultiplyAdd(const Kernels& kernels, int64_t multiply_adds);

// What one core can do at best, the lines of a roofline. Others that share the machine lower them.
struct CorePeaks {
  double gflops = 0;       // fp32 multiply-adds in registers, two operations each
  double cache_gbps = 0;   // reads of what the second cache holds, 10^9 bytes a second
  double memory_gbps = 0;  // reads of what no cache holds

  void RaiseTo(const CorePeaks& other);
};

// The best of a few tries on this thread; takes about a tenth of a second and 128 MB meanwhile.
CorePeaks MeasureCorePeaks(const Kernels& kernels);

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_PEAKS_H_
