// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/models_json.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/drawing/attention_words.h"
#include "common/drawing/input_words.h"
#include "common/drawing/licence_words.h"
#include "server/registry/settings/serving_rules.h"
#include "server/wire/http/json_document.h"

namespace vitrine {
namespace {

// Keeps members in the order in which they are added, so that a reader finds the name first.
using Json = nlohmann::ordered_json;

Json VersionJson(const VersionStatus& status) {
  Json json = {{"version", status.id.version},
               {"state", absl::AsciiStrToLower(v1::ModelState_Name(status.state))},
               {"labels", status.labels}};
  if (status.model != nullptr) json["licence"] = LicenceOf(status.model->manifest.provenance());
  return json;
}

// Returns the members of a model in OpenAI's form.
Json OpenAiModel(const std::string& name, const LoadedModel& model) {
  return {{"id", name},
          {"object", "model"},
          {"created", model.manifest.provenance().created_unix_seconds()},
          {"owned_by", "vitrine"}};
}

Json AttentionJson(const LoadedModel& model) {
  Json json = Json::array();
  for (const AttentionAbility::Offer& offer : model.attention.offers) {
    json.push_back({{"kind", AttentionKindName(offer.kind)}, {"layers", offer.layers}, {"heads", offer.heads}});
  }
  return json;
}

Json MetricsJson(const v1::Provenance& provenance) {
  Json json = Json::array();
  for (const v1::Metric& metric : provenance.metrics()) {
    json.push_back(
        {{"name", metric.name()}, {"split", metric.split()}, {"value", metric.value()}, {"images", metric.images()}});
  }
  return json;
}

}  // namespace

std::string ModelJson(const LoadedModel& model) {
  const v1::Provenance& provenance = model.manifest.provenance();
  Json json = OpenAiModel(model.id.model, model);
  json.update({{"name", model.id.model},
               {"version", model.id.version},
               {"classes", model.labels},
               {"parameters", model.manifest.parameters()},
               {"precision", model.precision},
               {"input", InputDescription(model.manifest.config())},
               {"data", provenance.data()},
               {"recipe", provenance.recipe()},
               {"licence", LicenceOf(provenance)},
               {"created_unix_seconds", provenance.created_unix_seconds()},
               {"weights_sha256", model.weights_sha256},
               {"attention", AttentionJson(model)},
               {"metrics", MetricsJson(provenance)},
               {"features", Json::array()}});
  for (const v1::FeatureKind kind : model.features.kinds) json["features"].push_back(FeatureKindName(kind));
  return JsonDocument::TextOf(json) + "\n";
}

std::string ModelsJson(const std::vector<VersionStatus>& versions, const Caller& caller) {
  std::map<std::string, ModelHandle> ready, newest;  // by model; before the merge, `ready` has only `stable` versions
  std::map<std::string, Json> versions_of;           // arrays, by model
  for (const VersionStatus& status : versions) {
    if (status.id.version == kWholeModel || !caller.MayUse(status.id.model)) continue;
    if (status.state == v1::READY) {
      const bool is_stable = std::count(status.labels.begin(), status.labels.end(), kStableLabel) > 0;
      (is_stable ? ready : newest)[status.id.model] = status.model;
    }
    versions_of[status.id.model].push_back(VersionJson(status));
  }
  ready.merge(newest);
  Json json = {{"models", Json::array()}, {"object", "list"}, {"data", Json::array()}};
  for (auto& [name, each] : versions_of) {
    if (ready.contains(name)) json["models"].push_back({{"name", name}, {"versions", std::move(each)}});
  }
  for (const auto& [name, model] : ready) json["data"].push_back(OpenAiModel(name, *model));
  return JsonDocument::TextOf(json) + "\n";
}

}  // namespace vitrine
