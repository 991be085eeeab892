// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_NARROW_ROWS_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_NARROW_ROWS_H_

#include <vector>

#include "models/engine/plan/plan.h"

namespace vitrine::cuda {

// Returns for each buffer whether its rows are bf16 in device memory. This is true if only fast kernels write the
// buffer, and all kernels that read the buffer multiply its numbers in bf16. Storing bf16 halves the traffic of qkv and
// of attention's results. The attention maps, and the lengths of channels in XCiT's attention, are then computed from
// the rounded numbers.
std::vector<bool> NarrowBuffers(const engine::LoweredPlan& plan);

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_NARROW_ROWS_H_
