// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/stated_licence.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/utf8.h"
#include "models/repository/files/text.h"
#include "models/repository/manifest.h"

namespace vitrine {
namespace {

// Removes spaces and quotes around the source's text, then cuts the text to its maximum length and escapes it.
std::string Cleaned(absl::string_view text) {
  constexpr size_t kMostBytes = 100;
  text = absl::StripAsciiWhitespace(text);
  for (const char* quote : {"\"", "'"}) {
    if (absl::ConsumePrefix(&text, quote)) absl::ConsumeSuffix(&text, quote);
  }
  const std::string escaped = EscapedText(FrontOf({text.data(), text.size()}, kMostBytes));
  return std::string(FrontOf(escaped, kMostBytes));
}

// Splits "[mit, gpl]". Returns other text as the only entry.
std::vector<std::string> EntriesOf(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (!absl::ConsumePrefix(&text, "[")) return {Cleaned(text)};
  absl::ConsumeSuffix(&text, "]");
  std::vector<std::string> entries;
  for (const absl::string_view entry : absl::StrSplit(text, ',')) entries.push_back(Cleaned(entry));
  return entries;
}

}  // namespace

std::string LicenceOfCard(absl::string_view card) {
  std::vector<std::string> licences;
  std::string name;
  bool inside = false, listed = false;  // inside: within the YAML; listed: after a line "license:" without a value
  for (absl::string_view line : absl::StrSplit(card, '\n')) {
    line = absl::StripTrailingAsciiWhitespace(line);
    if (line == "---") {
      if (inside) break;
      inside = true;
    } else if (!inside) {
      break;
    } else if (absl::ConsumePrefix(&line, "license:")) {
      listed = line.empty();
      if (!listed) licences = EntriesOf(line);
    } else if (absl::ConsumePrefix(&line, "license_name:")) {
      name = Cleaned(line);
    } else if (absl::string_view entry = absl::StripLeadingAsciiWhitespace(line);
               listed && absl::ConsumePrefix(&entry, "- ")) {
      licences.push_back(Cleaned(entry));
    } else {
      listed = false;
    }
  }
  const std::string licence(FrontOf(absl::StrJoin(licences, " OR "), kMostLicenceBytes));
  return licence == "other" && !name.empty() ? name : licence;
}

std::string LicenceOfConfig(std::string_view json) {
  const auto config = nlohmann::json::parse(json, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) return "";
  for (const auto* holder : {&config, config.contains("pretrained_cfg") ? &config["pretrained_cfg"] : nullptr}) {
    if (holder == nullptr || !holder->is_object()) continue;
    const auto found = holder->find("license");
    if (found != holder->end() && found->is_string()) return Cleaned(found->get<std::string>());
  }
  return "";
}

std::string LicenceOfMetadata(const std::map<std::string, std::string>& metadata) {
  for (const char* key : {"license", "modelspec.license"}) {
    if (const auto found = metadata.find(key); found != metadata.end()) return Cleaned(found->second);
  }
  return "";
}

}  // namespace vitrine
