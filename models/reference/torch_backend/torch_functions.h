// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_TORCH_BACKEND_TORCH_FUNCTIONS_H_
#define VITRINE_MODELS_REFERENCE_TORCH_BACKEND_TORCH_FUNCTIONS_H_

#include "models/engine/torch_library.h"
#include "models/reference/torch_backend/backend.h"
#include "models/reference/torch_backend/draw.h"

namespace vitrine {

inline constexpr TorchLibrary kTorchFunctions = {
    .make_backend = MakeReferenceBackend, .draw = DrawWeights, .compute_as_published = ComputeAsPublished};

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_TORCH_BACKEND_TORCH_FUNCTIONS_H_
