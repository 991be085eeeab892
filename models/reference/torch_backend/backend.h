// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_TORCH_BACKEND_BACKEND_H_
#define VITRINE_MODELS_REFERENCE_TORCH_BACKEND_BACKEND_H_

#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "models/engine/backend.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Implements TorchLibrary::make_backend (models/engine/torch_library.h).
absl::StatusOr<std::unique_ptr<const Backend>> MakeReferenceBackend(const v1::ModelConfig& config,
                                                                    std::span<const float* const> weights);

// Implements TorchLibrary::compute_as_published (models/engine/torch_library.h).
void ComputeAsPublished();

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_TORCH_BACKEND_BACKEND_H_
