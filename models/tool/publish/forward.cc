// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/forward.h"

#include <memory>
#include <utility>

#include "common/machine/machine.h"
#include "common/status_macros.h"
#include "models/engine/cpu_backend.h"
#include "models/engine/logits.h"
#include "models/engine/torch_library.h"

namespace vitrine {
namespace {

Forward By(std::unique_ptr<const Backend> made, const WeightedModel& model, int threads) {
  return [backend = std::shared_ptr<const Backend>(std::move(made)), classes = model.description.outputs(),
          threads](std::span<const FloatArray> images) { return LogitsOf(*backend, classes, images, threads); };
}

}  // namespace

absl::StatusOr<Forward> EngineForward(const WeightedModel& model, cpu::CpuPath path, const PrecisionChoice& choice) {
  ASSIGN_OR_RETURN(auto backend, MakeCpuBackend(model.description.program(), PointersTo(model), path, choice));
  return By(std::move(backend), model, FindMachine().Threads());
}

absl::StatusOr<Forward> ReferenceForward(const WeightedModel& model) {
  ASSIGN_OR_RETURN(const TorchLibrary* torch, OpenTorchLibrary());
  ASSIGN_OR_RETURN(auto backend, torch->make_backend(model.description.config(), PointersTo(model)));
  return By(std::move(backend), model, 1);  // one thread: LibTorch has its own threads
}

}  // namespace vitrine
