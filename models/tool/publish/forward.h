// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_FORWARD_H_
#define VITRINE_MODELS_TOOL_PUBLISH_FORWARD_H_

#include "absl/status/statusor.h"
#include "common/simd/cpu_path.h"
#include "models/engine/precision.h"
#include "models/repository/golden.h"
#include "models/repository/weights.h"

namespace vitrine {

// Returns the forward pass of a model's CPU engine, which is compiled for `path` and runs on all cores. Returns errors
// of MakeCpuBackend.
absl::StatusOr<Forward> EngineForward(const WeightedModel& model, cpu::CpuPath path,
                                      const PrecisionChoice& choice = {});

// Returns the forward pass of the reference implementation, with LibTorch. `model` must outlive the result.
// FAILED_PRECONDITION if LibTorch is not installed.
absl::StatusOr<Forward> ReferenceForward(const WeightedModel& model);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_FORWARD_H_
