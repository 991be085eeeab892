// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/model_json.h"

#include "absl/strings/str_cat.h"
#include "report/attention_words.h"
#include "server/wire/http/json_document.h"

namespace vitrine {

std::string ModelJson(const LoadedModel& model) {
  std::string text = absl::StrCat("{\"name\":", JsonDocument::TextOf(model.id.model), ",\"version\":", model.id.version,
                                  ",\"classes\":[");
  for (size_t i = 0; i < model.labels.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ",", JsonDocument::TextOf(model.labels[i]));
  }
  absl::StrAppend(&text, "],\"parameters\":", model.manifest.parameters(), ",\"precision\":\"", model.precision,
                  "\",\"attention\":[");
  const char* between = "";
  for (const AttentionAbility::Offer& offer : model.attention.offers) {
    absl::StrAppend(&text, between, "{\"kind\":\"", AttentionKindName(offer.kind), "\",\"layers\":", offer.layers,
                    ",\"heads\":", offer.heads, "}");
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

}  // namespace vitrine
