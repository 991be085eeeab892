// SPDX-License-Identifier: Apache-2.0
#include "models/reference/checkpoint/checkpoint.h"

#include <c10/core/GradMode.h>

#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/reference/checkpoint/stored_tensors.h"
#include "models/reference/float_arrays.h"
#include "models/repository/weights.h"

namespace vitrine {
namespace {

std::vector<NamedTensor> AllTensors(const Model& model) {
  std::vector<NamedTensor> tensors = model.Parameters();
  for (NamedTensor& buffer : model.Buffers()) tensors.push_back(std::move(buffer));
  return tensors;
}

absl::Status LibTorchError(const std::exception& error) {
  return absl::InternalError(absl::StrCat("LibTorch: ", error.what()));
}

}  // namespace

absl::Status LoadWeights(const Safetensors& weights, Model& model) {
  RETURN_IF_ERROR(CheckFit(weights, model.program()));
  RETURN_IF_ERROR(CheckFinite(weights));
  const c10::AutoGradMode no_gradients(false);
  try {
    for (const NamedTensor& target : AllTensors(model)) target.tensor.copy_(TensorOf(weights.tensors.at(target.name)));
  } catch (const std::exception& error) {
    return LibTorchError(error);
  }
  return absl::OkStatus();
}

Safetensors SaveWeights(const Model& model, Dtype storage) {
  const at::ScalarType type = storage == Dtype::kBF16 ? at::kBFloat16 : at::kFloat;
  Safetensors weights;
  for (const NamedTensor& source : AllTensors(model)) {
    weights.tensors[source.name] =
        StoredOf(source.tensor.detach().to(at::kCPU, type, /*non_blocking=*/false, /*copy=*/true));
  }
  return weights;
}

absl::StatusOr<std::unique_ptr<Model>> BuildModel(const v1::Manifest& manifest, Safetensors weights) {
  ASSIGN_OR_RETURN(const WeightedModel fitted, FitWeights(manifest, std::move(weights)));
  ASSIGN_OR_RETURN(std::unique_ptr<Model> model, MakeBlankModel(manifest.config()));
  const Safetensors named = NamedWeights(fitted);
  const c10::AutoGradMode no_gradients(false);
  try {
    model->Take([&](const std::string& name) { return TensorOf(named.tensors.at(name)); });
  } catch (const std::exception& error) {
    return LibTorchError(error);
  }
  return model;
}

absl::StatusOr<std::unique_ptr<Model>> BuildModel(const StoredVersion& version) {
  return BuildModel(version.manifest, version.weights);
}

Forward ForwardOf(const Model& model) {
  return [&model](std::span<const FloatArray> images) -> absl::StatusOr<FloatArray> {
    try {
      ImageBatch batch;
      for (const FloatArray& image : images) batch.push_back(TensorOf(image));
      ASSIGN_OR_RETURN(const at::Tensor logits, RunModel(model, batch));
      return FloatsOf(logits);
    } catch (const std::exception& error) {
      return LibTorchError(error);
    }
  };
}

}  // namespace vitrine
