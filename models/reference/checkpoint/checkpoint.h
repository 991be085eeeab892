// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_CHECKPOINT_CHECKPOINT_H_
#define VITRINE_MODELS_REFERENCE_CHECKPOINT_CHECKPOINT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "models/reference/model.h"
#include "models/repository/golden.h"
#include "models/repository/stored_version.h"

namespace vitrine {

// Copies the stored tensors into a model on any device. Names and shapes must match exactly, and values must be finite;
// bf16 and fp16 are converted to fp32. FAILED_PRECONDITION names the first invalid tensor; the model is then unchanged.
absl::Status LoadWeights(const Safetensors& weights, Model& model);

// Returns copies of every parameter and buffer of a model, stored as `storage` (kF32 or kBF16).
Safetensors SaveWeights(const Model& model, Dtype storage);

// Builds the model of a stored version on the CPU. The model shares the memory of fp32 weights. Returns the errors of
// FitWeights.
absl::StatusOr<std::unique_ptr<Model>> BuildModel(const v1::Manifest& manifest, Safetensors weights);

absl::StatusOr<std::unique_ptr<Model>> BuildModel(const StoredVersion& version);

// Returns a function that calls RunModel, for RecordGolden and CheckGolden. `model` must be on the CPU, and must
// outlive the result.
Forward ForwardOf(const Model& model);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_CHECKPOINT_CHECKPOINT_H_
