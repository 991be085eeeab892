// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CHECKPOINT_CHECKPOINT_H_
#define VITRINE_CHECKPOINT_CHECKPOINT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "reference/model.h"
#include "repository/golden.h"
#include "repository/stored_version.h"

namespace vitrine {

// Copies the stored tensors into a model, on whatever device it is. The set of names, each shape, and finiteness must
// match exactly; bf16 and fp16 storage widens to fp32. FAILED_PRECONDITION names the first tensor at fault; the model
// is unchanged then.
absl::Status LoadWeights(const Safetensors& weights, Model& model);

// Every parameter and buffer of a model, stored as `storage` (kF32 or kBF16). Copies: training on does not change them.
Safetensors SaveWeights(const Model& model, Dtype storage);

// The model of a stored version, on the CPU, with tensors that share the weights' memory. Errors as FitWeights.
absl::StatusOr<std::unique_ptr<Model>> BuildModel(const v1::Manifest& manifest, Safetensors weights);

// Of weights that stay with the version, and are shared.
absl::StatusOr<std::unique_ptr<Model>> BuildModel(const StoredVersion& version);

// What goldens are recorded and compared with: `model`, which is on the CPU and outlives the function, by RunModel.
Forward ForwardOf(const Model& model);

}  // namespace vitrine

#endif  // VITRINE_CHECKPOINT_CHECKPOINT_H_
