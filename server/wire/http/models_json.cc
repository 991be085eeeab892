// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/models_json.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/drawing/attention_words.h"
#include "common/drawing/input_words.h"
#include "common/drawing/licence_words.h"
#include "server/registry/settings/serving_rules.h"
#include "server/wire/http/json_document.h"

namespace vitrine {
namespace {

void AppendVersion(const VersionStatus& status, std::string& text) {
  absl::StrAppend(&text, "{\"version\":", status.id.version, ",\"state\":\"",
                  absl::AsciiStrToLower(v1::ModelState_Name(status.state)), "\",\"labels\":[");
  for (size_t i = 0; i < status.labels.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ",", JsonDocument::TextOf(status.labels[i]));
  }
  text += ']';
  if (status.model != nullptr) {
    absl::StrAppend(&text, ",\"licence\":", JsonDocument::TextOf(LicenceOf(status.model->manifest.provenance())));
  }
  text += '}';
}

// Returns the members of a model in OpenAI's form, without braces.
std::string OpenAiModel(const std::string& name, const LoadedModel& model) {
  return absl::StrCat("\"id\":", JsonDocument::TextOf(name),
                      ",\"object\":\"model\",\"created\":", model.manifest.provenance().created_unix_seconds(),
                      ",\"owned_by\":\"vitrine\"");
}

}  // namespace

std::string ModelJson(const LoadedModel& model) {
  const v1::Provenance& provenance = model.manifest.provenance();
  std::string text =
      absl::StrCat("{", OpenAiModel(model.id.model, model), ",\"name\":", JsonDocument::TextOf(model.id.model),
                   ",\"version\":", model.id.version, ",\"classes\":[");
  for (size_t i = 0; i < model.labels.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ",", JsonDocument::TextOf(model.labels[i]));
  }
  absl::StrAppend(&text, "],\"parameters\":", model.manifest.parameters(), ",\"precision\":\"", model.precision,
                  "\",\"input\":", JsonDocument::TextOf(InputDescription(model.manifest.config())),
                  ",\"data\":", JsonDocument::TextOf(provenance.data()),
                  ",\"recipe\":", JsonDocument::TextOf(provenance.recipe()),
                  ",\"licence\":", JsonDocument::TextOf(LicenceOf(provenance)),
                  ",\"created_unix_seconds\":", provenance.created_unix_seconds(), ",\"weights_sha256\":\"",
                  model.weights_sha256, "\",\"attention\":[");
  const char* between = "";
  for (const AttentionAbility::Offer& offer : model.attention.offers) {
    absl::StrAppend(&text, between, "{\"kind\":\"", AttentionKindName(offer.kind), "\",\"layers\":", offer.layers,
                    ",\"heads\":", offer.heads, "}");
    between = ",";
  }
  text += "],\"metrics\":[";
  between = "";
  for (const v1::Metric& metric : provenance.metrics()) {
    absl::StrAppend(&text, between, "{\"name\":", JsonDocument::TextOf(metric.name()),
                    ",\"split\":", JsonDocument::TextOf(metric.split()), ",\"value\":", metric.value(),
                    ",\"images\":", metric.images(), "}");
    between = ",";
  }
  text += "],\"features\":[";
  between = "";
  for (const v1::FeatureKind kind : model.features.kinds) {
    absl::StrAppend(&text, between, "\"", FeatureKindName(kind), "\"");
    between = ",";
  }
  return text + "]}\n";
}

std::string ModelsJson(const std::vector<VersionStatus>& versions, const Caller& caller) {
  std::map<std::string, ModelHandle> ready, newest;  // by model; before the merge, `ready` has only `stable` versions
  std::map<std::string, std::string> texts;          // JSON of the versions, by model
  for (const VersionStatus& status : versions) {
    if (status.id.version == kWholeModel || !caller.MayUse(status.id.model)) continue;
    if (status.state == v1::READY) {
      const bool is_stable = std::count(status.labels.begin(), status.labels.end(), kStableLabel) > 0;
      (is_stable ? ready : newest)[status.id.model] = status.model;
    }
    std::string& text = texts[status.id.model];
    if (!text.empty()) text += ',';
    AppendVersion(status, text);
  }
  ready.merge(newest);
  std::string all = "{\"models\":[";
  for (const auto& [name, text] : texts) {
    if (!ready.contains(name)) continue;
    absl::StrAppend(&all, all.back() == '[' ? "" : ",", "{\"name\":", JsonDocument::TextOf(name), ",\"versions\":[",
                    text, "]}");
  }
  all += "],\"object\":\"list\",\"data\":[";
  for (const auto& [name, model] : ready) {
    absl::StrAppend(&all, all.back() == '[' ? "{" : ",{", OpenAiModel(name, *model), "}");
  }
  return all + "]}\n";
}

}  // namespace vitrine
