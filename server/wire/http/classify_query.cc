// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/classify_query.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/drawing/attention_words.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "server/wire/http/timeout.h"

namespace vitrine {
namespace {

constexpr char kAttentionName[] = "attention";

bool IsHexDigit(char c) {
  return absl::ascii_isxdigit(static_cast<unsigned char>(c));
}

absl::Status RefusePart(std::string_view part, const char* why) {
  return absl::InvalidArgumentError(absl::StrCat("the URL's query has \"", Shown(part), "\", ", why));
}

absl::StatusOr<std::string> DecodePart(std::string_view encoded) {
  std::string text;
  text.reserve(encoded.size());
  for (size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] != '%') {
      text += encoded[i] == '+' ? ' ' : encoded[i];
      continue;
    }
    if (i + 2 >= encoded.size() || !IsHexDigit(encoded[i + 1]) || !IsHexDigit(encoded[i + 2])) {
      return RefusePart(encoded, "where two hexadecimal digits must follow each %; a % itself is %25");
    }
    text += absl::HexStringToBytes(absl::string_view(encoded.data() + i + 1, 2));
    i += 2;
  }
  if (text.find('\0') != std::string::npos) return RefusePart(encoded, "which contains a zero byte");
  if (!IsUtf8(text)) return RefusePart(encoded, "which is not UTF-8");
  return text;
}

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
  std::vector<std::string> sides = absl::StrSplit(value, 'x');
  if (sides.size() == 1) sides.push_back(sides[0]);  // a single number is the side of a square
  int32_t height = 0, width = 0;
  const auto fine = [](const std::string& side, int32_t* pixels) {
    return absl::SimpleAtoi(side, pixels) && *pixels >= 1 && *pixels <= kLongestSide;
  };
  if (sides.size() != 2 || !fine(sides[0], &height) || !fine(sides[1], &width)) {
    return WrongValue("resolution", value,
                      "HEIGHTxWIDTH or one side of a square in pixels, each 1 to 8192, as in 48x32 or 48");
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

absl::Status ReadDeadline(const std::string& value, ClassifyQuery& query) {
  if (!absl::ParseDuration(value, &query.deadline) || query.deadline <= absl::ZeroDuration() ||
      query.deadline > kHttpTimeout) {
    return WrongValue("deadline", value, "a time above 0 and up to 60s, with its unit, as in 2s or 500ms");
  }
  return absl::OkStatus();
}

// Reads a comma-separated list without duplicates.
absl::Status ReadFeatures(const std::string& value, ClassifyQuery& query) {
  std::set<v1::FeatureKind> kinds;
  const std::vector<std::string> words = absl::StrSplit(value, ',');
  for (const std::string& word : words) {
    const std::optional<v1::FeatureKind> kind = FeatureKindOf(word);
    if (!kind.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("parameter features names \"", Shown(word),
                       "\", which is unknown; give class, mean, patches, registers or projection, with "
                       "commas between them"));
    }
    if (!kinds.insert(*kind).second) {
      return absl::InvalidArgumentError(absl::StrCat("parameter features names ", word, " twice; name it once"));
    }
    query.request.add_features()->set_kind(*kind);
  }
  return absl::OkStatus();
}

absl::Status ReadNormalize(const std::string& value, ClassifyQuery& query) {
  if (value != "true" && value != "false") return WrongValue("normalize", value, "true or false");
  query.normalize = value == "true";
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
    {"version_label",
     [](const std::string& value, ClassifyQuery& query) {
       if (value.empty()) return WrongValue("version_label", value, "a label, as in stable or canary");
       query.request.set_version_label(value);
       return absl::OkStatus();
     }},
    {"request_id",
     [](const std::string& value, ClassifyQuery& query) {
       query.request.set_request_id(value);
       return absl::OkStatus();
     }},
    {"deadline", ReadDeadline},
    {kAttentionName,
     [](const std::string& value, ClassifyQuery& query) {
       ASSIGN_OR_RETURN(query.attention.emplace_back(), ParseAttentionParameter(value));
       return absl::OkStatus();
     }},
    {"attention_encoding",
     [](const std::string& value, ClassifyQuery& query) {
       if (value != "png" && value != "float") return WrongValue("attention_encoding", value, "png or float");
       query.attention_encoding = value == "png" ? v1::OVERLAY_PNG : v1::FLOAT32;
       return absl::OkStatus();
     }},
    {"features", ReadFeatures},
    {"normalize", ReadNormalize},
};

absl::Status ReadKnown(const std::string& name, const std::string& value, ClassifyQuery& query) {
  std::string names;
  for (const KnownParameter& known : kKnownParameters) {
    if (name == known.name) return known.read(value, query);
    absl::StrAppend(&names, names.empty() ? "" : ", ", known.name);
  }
  if (name == "timeout") return absl::InvalidArgumentError("parameter timeout is now deadline");
  return absl::InvalidArgumentError(
      absl::StrCat("parameter \"", Shown(name), "\" of the URL is unknown; valid parameters are ", names));
}

}  // namespace

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseQueryString(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> parameters;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), part.size() + 1));
    if (part.empty()) continue;
    const size_t equals = std::min(part.find('='), part.size());
    ASSIGN_OR_RETURN(std::string name, DecodePart(part.substr(0, equals)));
    ASSIGN_OR_RETURN(std::string value, DecodePart(part.substr(std::min(part.size(), equals + 1))));
    parameters.emplace_back(std::move(name), std::move(value));
  }
  return parameters;
}

absl::StatusOr<ClassifyQuery> ParseClassifyQuery(std::string_view query) {
  ASSIGN_OR_RETURN(const auto parameters, ParseQueryString(query));
  ClassifyQuery read;
  std::set<std::string> seen;
  for (const auto& [name, value] : parameters) {
    RETURN_IF_ERROR(ReadKnown(name, value, read));
    if (!seen.insert(name).second && name != kAttentionName) {
      return absl::InvalidArgumentError(absl::StrCat("parameter ", name, " is given twice; give it once"));
    }
  }
  if (read.attention_encoding.has_value() && read.attention.empty()) {
    return absl::InvalidArgumentError(
        "parameter attention_encoding has no effect without attention; add attention=KIND, as in "
        "attention=rollout");
  }
  if (read.normalize.has_value() && read.request.features().empty()) {
    return absl::InvalidArgumentError(
        "parameter normalize has no effect without features; add features=KIND, as in features=class");
  }
  for (v1::FeatureRequest& feature : *read.request.mutable_features()) feature.set_normalize(read.normalize == true);
  return read;
}

}  // namespace vitrine
