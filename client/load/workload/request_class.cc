// SPDX-License-Identifier: Apache-2.0
#include "client/load/workload/request_class.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/commands/classify_command.h"
#include "common/drawing/attention_words.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

std::string PriorityName(v1::Priority priority) {
  return priority == v1::LOW ? "low" : priority == v1::HIGH ? "high" : "normal";
}

absl::Status SetDeadline(absl::string_view value, RequestClass& request_class) {
  absl::Duration deadline;
  if (!absl::ParseDuration(value, &deadline) || deadline <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("deadline \"", value, "\" is no duration; give a number with a unit, as in 50ms or 2s"));
  }
  request_class.deadline = deadline;
  return absl::OkStatus();
}

absl::Status SetWeight(absl::string_view value, RequestClass& request_class) {
  double weight = 0;
  if (!absl::SimpleAtod(value, &weight) || !std::isfinite(weight) || weight <= 0 || weight > 1e9) {
    return absl::InvalidArgumentError(absl::StrCat("weight \"", value, "\" is no number above 0"));
  }
  request_class.weight = weight;
  return absl::OkStatus();
}

absl::Status SetTopK(absl::string_view value, RequestClass& request_class) {
  int top_k = 0;
  if (!absl::SimpleAtoi(value, &top_k) || top_k < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("top_k \"", value, "\" is no number of predictions; give at least 1"));
  }
  request_class.top_k = top_k;
  return absl::OkStatus();
}

// Parses kinds separated by commas.
template <class Kind>
absl::Status SetKinds(absl::string_view field, absl::string_view value,
                      std::optional<Kind> (*kind_of)(absl::string_view name), const std::vector<std::string>& names,
                      std::vector<Kind>& kinds) {
  if (absl::StrContains(value, '+')) {
    return absl::InvalidArgumentError(absl::StrCat(field, " \"", value, "\": separate kinds by commas now, ",
                                                   absl::StrReplaceAll(value, {{"+", ","}})));
  }
  std::vector<Kind> found;
  for (const absl::string_view word : absl::StrSplit(value, ',')) {
    const std::optional<Kind> kind = kind_of(absl::StripAsciiWhitespace(word));
    if (!kind.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(field, " \"", word, "\" is none of ", absl::StrJoin(names, ", ")));
    }
    found.push_back(*kind);
  }
  kinds = std::move(found);
  return absl::OkStatus();
}

// Returns true for "attention=..." and "features=...".
bool IsList(absl::string_view setting) {
  const absl::string_view field = absl::StripAsciiWhitespace(setting.substr(0, setting.find('=')));
  return field == "attention" || field == "features";
}

// Splits "model=a, attention=class,mean, weight=3" into settings. Commas within a list do not split.
std::vector<absl::string_view> SplitSettings(absl::string_view text) {
  std::vector<absl::string_view> settings;
  for (const absl::string_view piece : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    absl::string_view* last = settings.empty() ? nullptr : &settings.back();
    const bool continues = last != nullptr && !absl::StrContains(piece, '=') && IsList(*last);
    if (continues) {
      *last = absl::string_view(last->data(), static_cast<size_t>(piece.data() + piece.size() - last->data()));
    } else {
      settings.push_back(piece);
    }
  }
  return settings;
}

}  // namespace

std::string RequestClass::Description() const {
  if (!name.empty()) return name;
  std::vector<std::string> words = {model.name};
  if (model.version.has_value()) words[0] += absl::StrCat("@", *model.version);
  if (!model.label.empty()) words[0] += absl::StrCat("@", model.label);
  if (resolution.has_value()) words.push_back(absl::StrCat(resolution->height(), "x", resolution->width()));
  if (priority != v1::NORMAL) words.push_back(PriorityName(priority));
  words.push_back(absl::StrCat("within ", absl::FormatDuration(deadline)));
  for (const v1::AttentionKind kind : attention) words.push_back(absl::StrCat("with ", AttentionKindName(kind)));
  for (const v1::FeatureKind kind : features)
    words.push_back(absl::StrCat("with ", FeatureKindName(kind), " features"));
  if (top_k.has_value()) words.push_back(absl::StrCat("top ", *top_k));
  return absl::StrJoin(words, " ");
}

absl::StatusOr<v1::Priority> ParsePriority(absl::string_view word) {
  for (const v1::Priority priority : {v1::LOW, v1::NORMAL, v1::HIGH}) {
    if (word == PriorityName(priority)) return priority;
  }
  return absl::InvalidArgumentError(absl::StrCat("priority \"", word, "\" is none of low, normal, high"));
}

absl::Status SetClassField(absl::string_view field, absl::string_view value, RequestClass& request_class) {
  if (value.empty()) return absl::InvalidArgumentError(absl::StrCat(field, " has no value"));
  if (field == "model") {
    ASSIGN_OR_RETURN(request_class.model, ParseModelChoice(value));
  } else if (field == "resolution") {
    ASSIGN_OR_RETURN(request_class.resolution, ParseResolution(value));
  } else if (field == "priority") {
    ASSIGN_OR_RETURN(request_class.priority, ParsePriority(value));
  } else if (field == "deadline") {
    return SetDeadline(value, request_class);
  } else if (field == "weight") {
    return SetWeight(value, request_class);
  } else if (field == "images") {
    request_class.images = {std::string(value)};
  } else if (field == "attention") {
    return SetKinds(field, value, AttentionKindOf, AttentionKindNames(), request_class.attention);
  } else if (field == "features") {
    return SetKinds(field, value, FeatureKindOf, FeatureKindNames(), request_class.features);
  } else if (field == "top_k") {
    return SetTopK(value, request_class);
  } else if (field == "name") {
    request_class.name = std::string(value);
  } else if (field == "pictures") {
    return absl::InvalidArgumentError("pictures is now images");
  } else {
    return absl::InvalidArgumentError(absl::StrCat("\"", field,
                                                   "\" is none of model, resolution, priority, deadline, weight, "
                                                   "images, attention, features, top_k, name"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<RequestClass>> ParseMix(absl::string_view text, const RequestClass& defaults) {
  std::vector<RequestClass> classes;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ';', absl::SkipWhitespace());
  for (const absl::string_view part : parts) {
    RequestClass request_class = defaults;
    for (const absl::string_view setting : SplitSettings(part)) {
      const std::pair<absl::string_view, absl::string_view> pair = absl::StrSplit(setting, absl::MaxSplits('=', 1));
      const absl::Status set =
          SetClassField(absl::StripAsciiWhitespace(pair.first), absl::StripAsciiWhitespace(pair.second), request_class);
      if (!set.ok()) {
        return absl::InvalidArgumentError(absl::StrCat("class ", classes.size() + 1, " of the mix: ", set.message()));
      }
    }
    classes.push_back(std::move(request_class));
  }
  if (classes.empty()) {
    return absl::InvalidArgumentError("the mix names no class; give for instance \"model=a,weight=3; model=b\"");
  }
  return classes;
}

}  // namespace vitrine
