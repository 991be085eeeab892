// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_WEIGHTS_H_
#define VITRINE_MODELS_REPOSITORY_WEIGHTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "models/model_description.h"
#include "models/repository/files/safetensors.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// Checks that weights fit `program`: names, shapes and floating types. FAILED_PRECONDITION names the first invalid
// tensor.
absl::Status CheckFit(const Safetensors& weights, const program::Program& program);

struct WeightedModel {
  ModelDescription description;
  std::vector<StoredTensor> weights;  // in program order; F32, or the stored type from FitStored
};
// Returns one pointer per weight, as engines require.
std::vector<const float*> PointersTo(const WeightedModel& model);

// Returns the model of a stored version. Shares the memory of fp32 tensors in `weights`. Converts other tensors one by
// one and releases them, so memory never contains much more than the model. FAILED_PRECONDITION, with the version, if
// config, weights and the manifest's parameter count do not fit together, or if a number is not finite.
absl::StatusOr<WeightedModel> FitWeights(const v1::Manifest& manifest, Safetensors weights);

// Like FitWeights, but keeps every weight in its stored floating type; the caller converts the weights one by one.
absl::StatusOr<WeightedModel> FitStored(const v1::Manifest& manifest, Safetensors weights);

// Like FitWeights, without a manifest. Returns errors of ModelDescription::Make, CheckFit and CheckFinite.
absl::StatusOr<WeightedModel> WithWeights(const v1::ModelConfig& config, Safetensors weights);

// Returns the weights by the program's names; shares the bytes.
Safetensors NamedWeights(const WeightedModel& model);
// Returns NamedWeights, rounded to bf16 if `bf16` is true. In that case, also rounds the weights in `model`, so that
// goldens computed with `model` later match the published weights.
Safetensors AsStored(WeightedModel& model, bool bf16);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_WEIGHTS_H_
