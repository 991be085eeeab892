// SPDX-License-Identifier: Apache-2.0
#include "models/repository/weights.h"

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"

namespace vitrine {
namespace {

absl::Status RefusedWeight(const std::string& name, const std::string& fault) {
  return absl::FailedPreconditionError(absl::StrCat("tensor ", Quoted(name), " ", fault));
}

std::string InBrackets(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

}  // namespace

absl::Status CheckFit(const Safetensors& weights, const program::Program& program) {
  std::set<std::string> wanted_names;
  for (const program::Weight& wanted : program.weights()) {
    const auto found = weights.tensors.find(wanted.name);
    if (found == weights.tensors.end()) {
      return RefusedWeight(wanted.name,
                           absl::StrCat("is missing from the weights; the model needs ", InBrackets(wanted.shape)));
    }
    const StoredTensor& stored = found->second;
    if (stored.shape != wanted.shape) {
      return RefusedWeight(wanted.name, absl::StrCat("has shape ", InBrackets(stored.shape), "; the model needs ",
                                                     InBrackets(wanted.shape)));
    }
    if (!IsFloating(stored.dtype)) {
      return RefusedWeight(wanted.name, absl::StrCat("is stored as ", std::string(NameOf(stored.dtype)),
                                                     "; the model needs floating-point numbers"));
    }
    wanted_names.insert(wanted.name);
  }
  for (const auto& [name, tensor] : weights.tensors) {
    if (!wanted_names.contains(name)) return RefusedWeight(name, "is in the weights, but the model has no such tensor");
  }
  return absl::OkStatus();
}

namespace {

absl::StatusOr<WeightedModel> WithStored(const v1::ModelConfig& config, Safetensors weights) {
  ASSIGN_OR_RETURN(ModelDescription description, ModelDescription::Make(config));
  const auto with_prefix = [](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat("weights: ", status.message()));
  };
  if (const absl::Status fits = CheckFit(weights, description.program()); !fits.ok()) return with_prefix(fits);
  if (const absl::Status finite = CheckFinite(weights); !finite.ok()) return with_prefix(finite);
  std::vector<StoredTensor> in_order;
  for (const program::Weight& weight : description.program().weights()) {
    in_order.push_back(std::move(weights.tensors.extract(weight.name).mapped()));
  }
  return WeightedModel{std::move(description), std::move(in_order)};
}

void Widen(WeightedModel& model) {
  for (StoredTensor& weight : model.weights) weight = ToF32(weight);
}

}  // namespace

absl::StatusOr<WeightedModel> WithWeights(const v1::ModelConfig& config, Safetensors weights) {
  ASSIGN_OR_RETURN(WeightedModel model, WithStored(config, std::move(weights)));
  Widen(model);
  return model;
}

absl::StatusOr<WeightedModel> FitWeights(const v1::Manifest& manifest, Safetensors weights) {
  ASSIGN_OR_RETURN(WeightedModel model, FitStored(manifest, std::move(weights)));
  Widen(model);
  return model;
}

absl::StatusOr<WeightedModel> FitStored(const v1::Manifest& manifest, Safetensors weights) {
  const auto refused = [&](const std::string& fault) {
    return absl::FailedPreconditionError(absl::StrCat(manifest.model(), "/", manifest.version(), ": ", fault));
  };
  const absl::StatusOr<ModelDescription> description = ModelDescription::Make(manifest.config());
  if (!description.ok()) return refused(absl::StrCat("config: ", description.status().message()));
  if (const absl::Status fits = CheckFit(weights, description->program()); !fits.ok()) {
    return refused(absl::StrCat("weights: ", fits.message()));
  }
  const int64_t parameters = description->program().parameters();
  if (parameters != manifest.parameters()) {
    return refused(
        absl::StrCat("the model has ", parameters, " parameters, the manifest says ", manifest.parameters()));
  }
  absl::StatusOr<WeightedModel> model = WithStored(manifest.config(), std::move(weights));
  if (!model.ok()) return refused(std::string(model.status().message()));
  return model;
}

std::vector<const float*> PointersTo(const WeightedModel& model) {
  std::vector<const float*> weights;
  for (const StoredTensor& weight : model.weights) weights.push_back(weight.As<float>());
  return weights;
}

Safetensors NamedWeights(const WeightedModel& model) {
  Safetensors weights;
  const std::vector<program::Weight>& names = model.description.program().weights();
  for (size_t i = 0; i < names.size(); ++i) weights.tensors[names[i].name] = model.weights[i];
  return weights;
}

Safetensors AsStored(WeightedModel& model, bool bf16) {
  if (!bf16) return NamedWeights(model);
  Safetensors weights;
  const std::vector<program::Weight>& names = model.description.program().weights();
  for (size_t i = 0; i < names.size(); ++i) {
    const StoredTensor& rounded = weights.tensors[names[i].name] = AsBFloat16(model.weights[i]);
    model.weights[i] = ToF32(rounded);
  }
  return weights;
}

}  // namespace vitrine
