// SPDX-License-Identifier: Apache-2.0
// Finds a model's head that training code renamed.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "models/repository/files/text.h"
#include "models/repository/foreign/import_names.h"

namespace vitrine {
namespace {

// A linear layer can be the classifier only if the last segment of its name is one of these.
constexpr std::string_view kHeadWords[] = {"fc", "head", "classifier", "linear", "logits", "cls", "output", "out"};

bool IsHeadWord(std::string_view name) {
  const std::string_view word = name.substr(name.rfind('.') + 1);
  return std::find(std::begin(kHeadWords), std::end(kHeadWords), word) != std::end(kHeadWords);
}

// Returns the model's width, the last dimension of the class token; 0 if the source's class token is missing.
int64_t WidthOf(ForeignSource source, const TensorMap& tensors) {
  const auto token = tensors.find(source == ForeignSource::kTimm ? "cls_token" : "vit.embeddings.cls_token");
  return token == tensors.end() || token->second.shape.empty() ? 0 : token->second.shape.back();
}

bool IsLinear(const TensorMap& tensors, const std::string& weight, int64_t width) {
  const StoredTensor& tensor = tensors.at(weight);
  const auto bias = tensors.find(absl::StrCat(absl::StripSuffix(weight, ".weight"), ".bias"));
  return weight.ends_with(".weight") && tensor.shape.size() == 2 && tensor.shape[1] == width && bias != tensors.end() &&
         bias->second.shape == std::vector<int64_t>{tensor.shape[0]};
}

// Returns the names, without ".weight", of the linear layers outside the body that have as many inputs as the head.
std::vector<std::string> Candidates(ForeignSource source, const TensorMap& tensors, int64_t width) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    if (IsOfBody(source, name) || IsIgnorable(source, name, tensor) || !IsLinear(tensors, name, width)) continue;
    names.emplace_back(absl::StripSuffix(name, ".weight"));
  }
  return names;
}

// Returns true if a tensor of `outside`, except the head's tensors, has the last dimension `width`. Such a tensor may
// belong to a layer between the body and the head. The tensors inside the model are not checked here, because
// RenameForeign rejects unknown tensors there.
bool HasMoreLayers(const TensorMap& outside, const std::string& head, int64_t width) {
  return std::any_of(outside.begin(), outside.end(), [&](const auto& named) {
    const auto& [name, tensor] = named;
    return name != head + ".weight" && name != head + ".bias" && !tensor.shape.empty() && tensor.shape.back() == width;
  });
}

absl::Status NoHead(const std::string& head, const std::vector<std::string>& candidates, int64_t width) {
  if (candidates.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("the file has no classifier: it has neither ",
                                                      Quoted(head + ".weight"), " nor another linear layer with ",
                                                      width, " inputs, weight and bias; save the model with its head"));
  }
  const std::string listed = absl::StrJoin(candidates, " or ", [](std::string* text, const std::string& name) {
    absl::StrAppend(text, Quoted(name + ".weight"));
  });
  return absl::FailedPreconditionError(
      absl::StrCat("tensor ", Quoted(head + ".weight"), " is missing; ", listed,
                   " may be it: if training had nothing but dropout between the model's features and that layer, save "
                   "its tensors as ",
                   Quoted(head + ".weight"), " and ", Quoted(head + ".bias"), " in the file"));
}

void MoveLayer(TensorMap& from, const std::string& name, const std::string& renamed, TensorMap& to) {
  for (const char* part : {".weight", ".bias"}) {
    auto tensor = from.extract(name + part);
    tensor.key() = renamed + part;
    to.insert(std::move(tensor));
  }
}

}  // namespace

const char* HeadName(ForeignSource source, const v1::ModelConfig& config) {
  if (source == ForeignSource::kTimm) return "head";
  return config.vit().distilled() ? "cls_classifier" : "classifier";
}

bool MayAddHead(ForeignSource source, const v1::ModelConfig& config) {
  return source == ForeignSource::kTimm && config.has_vit() && config.vit().projection() == 0;
}

bool LacksHead(ForeignSource source, const v1::ModelConfig& config, const UnwrappedWeights& weights) {
  v1::ModelConfig body = config;
  body.set_classes(0);
  const int64_t width = config.vit().width();
  return config.classes() > 0 && config.has_vit() && !config.vit().distilled() &&
         FitsBody(source, body, weights.tensors) && Candidates(source, weights.tensors, width).empty() &&
         Candidates(source, weights.outside, width).empty();
}

absl::StatusOr<std::string> AdoptHead(ForeignSource source, const v1::ModelConfig& config, UnwrappedWeights& weights) {
  const std::string head = HeadName(source, config);
  const bool is_needed = config.classes() > 0;
  if ((!is_needed && !MayAddHead(source, config)) || config.vit().distilled() ||
      weights.tensors.contains(head + ".weight") || !FitsBody(source, config, weights.tensors))
    return "";
  const int64_t width = WidthOf(source, weights.tensors);
  std::vector<std::string> candidates = Candidates(source, weights.tensors, width);
  const size_t inside = candidates.size();
  // Skips weights.outside if there are several copies of the model, because a head outside all copies may belong to any
  // copy.
  if (weights.others.empty()) {
    for (std::string& name : Candidates(source, weights.outside, width)) candidates.push_back(std::move(name));
  }
  // If the file has a pooler, training code may have added a head to a ViTModel. This head may read the pooler's
  // output, so it is not adopted.
  const bool is_pooled = weights.tensors.contains("vit.pooler.dense.weight");
  if (candidates.size() != 1 || !IsHeadWord(candidates[0]) || is_pooled ||
      HasMoreLayers(weights.outside, candidates[0], width)) {
    if (!is_needed) return "";
    return NoHead(head, candidates, width);
  }
  MoveLayer(inside == 1 ? weights.tensors : weights.outside, candidates[0], head, weights.tensors);
  return candidates[0];
}

}  // namespace vitrine
