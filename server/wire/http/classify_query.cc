// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/classify_query.h"

#include <set>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "report/attention_words.h"
#include "server/wire/http/held_answer.h"
#include "server/wire/http/query.h"

namespace vitrine {
namespace {

constexpr char kAttentionName[] = "attention";

absl::Status WrongValue(const char* name, const std::string& value, const char* wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat("parameter ", name, " is \"", Shown(value), "\"; it must be ", wanted));
}

absl::Status ReadTopK(const std::string& value, ClassifyQuery& query) {
  int32_t top_k = 0;
  if (!absl::SimpleAtoi(value, &top_k) || top_k < 1) {
    return WrongValue("top_k", value, "a whole number from 1, at most the model's number of classes");
  }
  query.request.set_top_k(top_k);
  return absl::OkStatus();
}

absl::Status ReadResolution(const std::string& value, ClassifyQuery& query) {
  constexpr int32_t kLongestSide = 8192;
  const std::vector<std::string> sides = absl::StrSplit(value, 'x');
  int32_t height = 0, width = 0;
  const auto fine = [](const std::string& side, int32_t* pixels) {
    return absl::SimpleAtoi(side, pixels) && *pixels >= 1 && *pixels <= kLongestSide;
  };
  if (sides.size() != 2 || !fine(sides[0], &height) || !fine(sides[1], &width)) {
    return WrongValue("resolution", value, "HEIGHTxWIDTH in pixels, each 1 to 8192, as in 48x32");
  }
  query.request.mutable_resolution()->set_height(height);
  query.request.mutable_resolution()->set_width(width);
  return absl::OkStatus();
}

absl::Status ReadPriority(const std::string& value, ClassifyQuery& query) {
  constexpr std::pair<const char*, v1::Priority> kLevels[] = {
      {"high", v1::HIGH}, {"normal", v1::NORMAL}, {"low", v1::LOW}};
  for (const auto& [name, priority] : kLevels) {
    if (value != name) continue;
    query.request.set_priority(priority);
    return absl::OkStatus();
  }
  return WrongValue("priority", value, "high, normal or low");
}

absl::Status ReadVersionLabel(const std::string& value, ClassifyQuery& query) {
  if (value.empty()) return WrongValue("version_label", value, "a label, as in stable or canary");
  query.request.set_version_label(value);
  return absl::OkStatus();
}

absl::Status ReadRequestId(const std::string& value, ClassifyQuery& query) {
  query.request.set_request_id(value);
  return absl::OkStatus();
}

absl::Status ReadTimeout(const std::string& value, ClassifyQuery& query) {
  if (!absl::ParseDuration(value, &query.timeout) || query.timeout <= absl::ZeroDuration() ||
      query.timeout > kMaxHttpWait) {
    return WrongValue("timeout", value, "a time above 0 and of at most 60s, with its unit, as in 2s or 500ms");
  }
  return absl::OkStatus();
}

absl::Status ReadAttention(const std::string& value, ClassifyQuery& query) {
  ASSIGN_OR_RETURN(AttentionParameter wish, ParseAttentionParameter(value));
  query.attention.push_back(std::move(wish));
  return absl::OkStatus();
}

absl::Status ReadAttentionEncoding(const std::string& value, ClassifyQuery& query) {
  if (value != "png" && value != "float") return WrongValue("attention_encoding", value, "png or float");
  query.attention_encoding = value == "png" ? v1::OVERLAY_PNG : v1::FLOAT32;
  return absl::OkStatus();
}

// Words with commas between them, each once.
absl::Status ReadFeatures(const std::string& value, ClassifyQuery& query) {
  std::set<v1::FeatureKind> kinds;
  const std::vector<std::string> words = absl::StrSplit(value, ',');
  for (const std::string& word : words) {
    const std::optional<v1::FeatureKind> kind = FeatureKindOf(word);
    if (!kind.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("parameter features names \"", Shown(word),
                                                     "\", which is not known; there are class, mean and patches, with "
                                                     "commas between them"));
    }
    if (!kinds.insert(*kind).second) {
      return absl::InvalidArgumentError(absl::StrCat("parameter features names ", word, " twice; name it once"));
    }
    query.request.add_features()->set_kind(*kind);
  }
  return absl::OkStatus();
}

struct KnownParameter {
  const char* name;
  absl::Status (*read)(const std::string& value, ClassifyQuery& query);
};
constexpr KnownParameter kKnownParameters[] = {
    {"top_k", ReadTopK},
    {"resolution", ReadResolution},
    {"priority", ReadPriority},
    {"version_label", ReadVersionLabel},
    {"request_id", ReadRequestId},
    {"timeout", ReadTimeout},
    {kAttentionName, ReadAttention},
    {"attention_encoding", ReadAttentionEncoding},
    {"features", ReadFeatures},
};

absl::Status ReadKnown(const std::string& name, const std::string& value, ClassifyQuery& query) {
  std::string names;
  for (const KnownParameter& known : kKnownParameters) {
    if (name == known.name) return known.read(value, query);
    absl::StrAppend(&names, names.empty() ? "" : ", ", known.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("parameter \"", Shown(name), "\" of the URL is not known; there are ", names));
}

}  // namespace

absl::StatusOr<ClassifyQuery> ParseClassifyQuery(std::string_view query) {
  ASSIGN_OR_RETURN(const auto parameters, ParseQueryString(query));
  ClassifyQuery read;
  std::set<std::string> seen;
  for (const auto& [name, value] : parameters) {
    RETURN_IF_ERROR(ReadKnown(name, value, read));
    if (!seen.insert(name).second && name != kAttentionName) {
      return absl::InvalidArgumentError(absl::StrCat("parameter ", name, " is there twice; give it once"));
    }
  }
  if (read.attention_encoding.has_value() && read.attention.empty()) {
    return absl::InvalidArgumentError(
        "parameter attention_encoding says how attention comes, and none is asked for; add attention=KIND, as in "
        "attention=rollout");
  }
  return read;
}

}  // namespace vitrine
