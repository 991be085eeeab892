// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_BACKEND_H_
#define VITRINE_MODELS_ENGINE_CPU_BACKEND_H_

#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "common/simd/cpu_path.h"
#include "models/engine/backend.h"
#include "models/engine/precision.h"
#include "models/engine/weight_source.h"
#include "models/program/program.h"

namespace vitrine {

// Compiles `program` for the CPU. Each weight that only linear layers read is released (WeightSource::LetGo) as soon as
// it is packed. Memory therefore contains little more than one copy of the weights. Returns the errors of
// engine::Engine::Make.
absl::StatusOr<std::unique_ptr<const Backend>> MakeCpuBackend(const program::Program& program,
                                                              engine::WeightSource& weights, cpu::CpuPath path,
                                                              const PrecisionChoice& choice = {});
// Compiles `program`. `weights` has one array per weight of the program, in program order.
absl::StatusOr<std::unique_ptr<const Backend>> MakeCpuBackend(const program::Program& program,
                                                              std::span<const float* const> weights, cpu::CpuPath path,
                                                              const PrecisionChoice& choice = {});

}  // namespace vitrine

#endif  // VITRINE_MODELS_ENGINE_CPU_BACKEND_H_
