// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BENCH_STORED_MODEL_H_
#define VITRINE_BENCH_STORED_MODEL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "models/engine/cpu/engine.h"
#include "models/reference/model.h"

namespace vitrine {

// Reads and verifies the newest version of `model`, as the server does. NOT_FOUND: there is no version.
absl::StatusOr<std::shared_ptr<const Model>> ReadNewest(const std::string& repository, const std::string& model);

// Returns the engine that a server would use. INVALID_ARGUMENT if this CPU lacks `path` or `precision`.
absl::StatusOr<engine::Engine> EngineOf(const Model& model, cpu::CpuPath path, Precision precision);

// Returns a view of an image (channels, height, width).
engine::ImagePlanes ImageOf(const at::Tensor& image);

}  // namespace vitrine

#endif  // VITRINE_BENCH_STORED_MODEL_H_
