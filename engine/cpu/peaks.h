// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_PEAKS_H_
#define VITRINE_ENGINE_CPU_PEAKS_H_

#include <cstdint>

#include "engine/cpu/instructions.h"

namespace vitrine::engine {

// Does so many multiply-adds in registers, or a little more, as fast as one core can; `instructions` multiply numbers
// of that precision.
void MultiplyAdd(const Instructions& instructions, Precision precision, int64_t multiply_adds);

// What one core can do at best, the lines of a roofline. Others that share the machine lower them.
struct CorePeaks {
  double gflops = 0;       // fp32 multiply-adds in registers, two operations each
  double bf16_gflops = 0;  // of bf16, and of bytes; 0: there are none
  double int8_gflops = 0;
  double cache_gbps = 0;   // reads of what the second cache holds, 10^9 bytes a second
  double memory_gbps = 0;  // reads of what no cache holds

  double GflopsOf(Precision precision) const;
  void RaiseTo(const CorePeaks& other);
};

// The best of a few tries on this thread; takes about a fifth of a second and 128 MB meanwhile.
CorePeaks MeasureCorePeaks(const Instructions& instructions);

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_PEAKS_H_
