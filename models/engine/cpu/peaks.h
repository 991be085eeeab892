// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_PEAKS_H_
#define VITRINE_MODELS_ENGINE_CPU_PEAKS_H_

#include <cstdint>

#include "models/engine/cpu/instructions.h"

namespace vitrine::engine {

// Runs at least `multiply_adds` multiply-adds in registers at the peak rate of a core. `instructions` must support
// `precision`.
void MultiplyAdd(const Instructions& instructions, Precision precision, int64_t multiply_adds);

// Peak rates of one core: the limits in a roofline plot. Other load on the machine lowers the measured rates.
struct CorePeaks {
  double gflops = 0;       // fp32 multiply-adds in registers, counted as two operations
  double bf16_gflops = 0;  // like gflops, for bf16 and int8; 0 if not supported
  double int8_gflops = 0;
  double cache_gbps = 0;   // reads that hit the L2 cache, 10^9 bytes/s
  double memory_gbps = 0;  // reads that miss all caches

  double GflopsOf(Precision precision) const;
  void RaiseTo(const CorePeaks& other);
};

// Returns the highest rates of a few runs on this thread. Needs about 0.2 s and 128 MB.
CorePeaks MeasureCorePeaks(const Instructions& instructions);

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_PEAKS_H_
