// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BENCH_STORED_MODEL_H_
#define VITRINE_BENCH_STORED_MODEL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "engine/cpu/engine.h"
#include "reference/model.h"

namespace vitrine {

// The newest version of `model`, read and verified as the server does. NOT_FOUND if there is none.
absl::StatusOr<std::shared_ptr<const Model>> ReadNewest(const std::string& repository, const std::string& model);

// What computes it in a server. INVALID_ARGUMENT for what this CPU cannot do.
absl::StatusOr<engine::Engine> EngineOf(const Model& model, cpu::CpuPath path, Precision precision);

// A view of an image (channels, height, width).
engine::Picture PictureOf(const at::Tensor& image);

}  // namespace vitrine

#endif  // VITRINE_BENCH_STORED_MODEL_H_
