// SPDX-License-Identifier: Apache-2.0
#include "repository/checkpoint.h"

#include <c10/core/GradMode.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "repository/text.h"

namespace vitrine {
namespace {

std::vector<NamedTensor> AllTensors(const Model& model) {
  std::vector<NamedTensor> tensors = model.Parameters();
  for (NamedTensor& buffer : model.Buffers()) tensors.push_back(std::move(buffer));
  return tensors;
}

absl::Status Refused(const std::string& name, const std::string& fault) {
  return absl::FailedPreconditionError(absl::StrCat("tensor ", Quoted(name), " ", fault));
}

std::string ShapeOf(const at::Tensor& tensor) {
  return absl::StrCat("[", absl::StrJoin(tensor.sizes(), ", "), "]");
}

absl::Status CheckTensor(const std::string& name, const at::Tensor& stored, const at::Tensor& wanted) {
  if (!stored.sizes().equals(wanted.sizes())) {
    return Refused(name, absl::StrCat("has shape ", ShapeOf(stored), "; the model needs ", ShapeOf(wanted)));
  }
  const bool fits =
      wanted.is_floating_point() ? stored.is_floating_point() : stored.scalar_type() == wanted.scalar_type();
  if (!fits) {
    return Refused(name, absl::StrCat("is stored as ", c10::toString(stored.scalar_type()), "; the model needs ",
                                      c10::toString(wanted.scalar_type())));
  }
  return absl::OkStatus();
}

// Everything that can be wrong but the values.
absl::Status CheckFit(const Safetensors& weights, const Model& model) {
  std::map<std::string, at::Tensor> unused = weights.tensors;
  for (const NamedTensor& wanted : AllTensors(model)) {
    const auto stored = unused.find(wanted.name);
    if (stored == unused.end()) {
      return Refused(wanted.name,
                     absl::StrCat("is missing from the weights; the model needs ", ShapeOf(wanted.tensor)));
    }
    RETURN_IF_ERROR(CheckTensor(wanted.name, stored->second, wanted.tensor));
    unused.erase(stored);
  }
  if (unused.empty()) return absl::OkStatus();
  return Refused(unused.begin()->first, "is in the weights, but the model has no such tensor");
}

// The model's tensors become those of `weights`, which CheckFit has seen.
absl::Status TakeWeights(Safetensors weights, Model& model) {
  const c10::AutoGradMode no_gradients(false);
  try {
    model.Take([&](const std::string& name) {
      const at::Tensor stored = std::move(weights.tensors.extract(name).mapped());
      return stored.is_floating_point() ? stored.to(at::kFloat) : stored;
    });
  } catch (const c10::Error& error) {
    return absl::InternalError(absl::StrCat("LibTorch: ", error.what_without_backtrace()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status LoadWeights(const Safetensors& weights, Model& model) {
  RETURN_IF_ERROR(CheckFit(weights, model));
  RETURN_IF_ERROR(CheckFinite(weights));
  const c10::AutoGradMode no_gradients(false);
  try {
    for (const NamedTensor& target : AllTensors(model)) target.tensor.copy_(weights.tensors.at(target.name));
  } catch (const c10::Error& error) {
    return absl::InternalError(absl::StrCat("LibTorch: ", error.what_without_backtrace()));
  }
  return absl::OkStatus();
}

Safetensors SaveWeights(const Model& model, at::ScalarType storage) {
  Safetensors weights;
  for (const NamedTensor& source : AllTensors(model)) {
    const at::ScalarType dtype = source.tensor.is_floating_point() ? storage : source.tensor.scalar_type();
    weights.tensors[source.name] =
        source.tensor.detach().to(at::kCPU, dtype, /*non_blocking=*/false, /*copy=*/true).contiguous();
  }
  return weights;
}

absl::StatusOr<std::unique_ptr<Model>> BuildModel(const v1::Manifest& manifest, Safetensors weights) {
  const auto refused = [&](const std::string& fault) {
    return absl::FailedPreconditionError(absl::StrCat(manifest.model(), "/", manifest.version(), ": ", fault));
  };
  // First without memory: a config that asks for more than the weights hold must not cost any.
  const absl::StatusOr<std::unique_ptr<Model>> shapes = MakeModel(manifest.config(), 0, at::kMeta);
  if (!shapes.ok()) return refused(absl::StrCat("config: ", shapes.status().message()));
  if (const absl::Status fits = CheckFit(weights, **shapes); !fits.ok()) {
    return refused(absl::StrCat("weights: ", fits.message()));
  }
  if ((*shapes)->CountParameters() != manifest.parameters()) {
    return refused(absl::StrCat("the model has ", (*shapes)->CountParameters(), " parameters, the manifest says ",
                                manifest.parameters()));
  }
  if (const absl::Status finite = CheckFinite(weights); !finite.ok()) {
    return refused(absl::StrCat("weights: ", finite.message()));
  }
  absl::StatusOr<std::unique_ptr<Model>> model = MakeBlankModel(manifest.config());
  if (!model.ok()) return refused(absl::StrCat("config: ", model.status().message()));
  RETURN_IF_ERROR(TakeWeights(std::move(weights), **model));
  return model;
}

absl::StatusOr<std::unique_ptr<Model>> BuildModel(const StoredVersion& version) {
  return BuildModel(version.manifest, version.weights);
}

}  // namespace vitrine
