// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPOSITORY_WEIGHTS_H_
#define VITRINE_REPOSITORY_WEIGHTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "models/model_description.h"
#include "repository/safetensors.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// Whether these are the weights of `program`: the set of names, each shape, and floating types. FAILED_PRECONDITION
// names the first tensor at fault.
absl::Status CheckFit(const Safetensors& weights, const program::Program& program);

// A model and what it computes with.
struct WeightedModel {
  ModelDescription description;
  std::vector<StoredTensor> weights;  // in the order of the program's; F32, unless FitStored says otherwise
};
// Of each weight, as engines take them.
std::vector<const float*> PointersTo(const WeightedModel& model);

// The model of a stored version. Its tensors are those of `weights`, without a copy, where these are fp32; others are
// widened one by one and let go, so that at no time there is much more than the model. FAILED_PRECONDITION if config,
// weights and the manifest's parameter count do not fit together, or a number is not finite; the sentence names the
// version. Throws std::bad_alloc.
absl::StatusOr<WeightedModel> FitWeights(const v1::Manifest& manifest, Safetensors weights);

// The same with every weight as it is stored, of any floating type: who needs them one by one widens them so.
absl::StatusOr<WeightedModel> FitStored(const v1::Manifest& manifest, Safetensors weights);

// The same for weights that no manifest stands beside; errors of ModelDescription::Make, CheckFit and CheckFinite.
absl::StatusOr<WeightedModel> WithWeights(const v1::ModelConfig& config, Safetensors weights);

// Under the names of the program's; the bytes are shared.
Safetensors NamedWeights(const WeightedModel& model);
// The same as a file is to hold them: where `bf16` is set, the model's own are rounded too, since what is published is
// what its goldens are of. Throws std::bad_alloc.
Safetensors AsStored(WeightedModel& model, bool bf16);

}  // namespace vitrine

#endif  // VITRINE_REPOSITORY_WEIGHTS_H_
