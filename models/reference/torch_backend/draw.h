// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_TORCH_BACKEND_DRAW_H_
#define VITRINE_MODELS_REFERENCE_TORCH_BACKEND_DRAW_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "models/float_array.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Implements TorchLibrary::draw (models/engine/torch_library.h).
absl::StatusOr<std::vector<FloatArray>> DrawWeights(const v1::ModelConfig& config, uint64_t seed);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_TORCH_BACKEND_DRAW_H_
