// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_DESCRIBE_PEAKS_H_
#define VITRINE_MODELS_TOOL_DESCRIBE_PEAKS_H_

#include "models/engine/precision.h"

namespace vitrine {

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

// Returns the highest rates of a few runs on this thread, with the instructions that a server on this CPU would use.
// Needs about 0.2 s and 128 MB.
CorePeaks PeaksOfThisCore();

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_DESCRIBE_PEAKS_H_
