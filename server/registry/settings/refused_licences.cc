// SPDX-License-Identifier: Apache-2.0
#include "server/registry/settings/refused_licences.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/drawing/licence_words.h"
#include "server/identity/caller.h"

namespace vitrine {
namespace {

// Returns the form in which licences and patterns are compared: "CC BY-NC 4.0" becomes "cc-by-nc-4.0".
std::string Plain(absl::string_view text) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(absl::StripAsciiWhitespace(text)), {{" ", "-"}, {"_", "-"}});
}

bool StatesNone(const std::string& plain) {
  return plain.empty() || plain == "none" || plain == "unknown" || plain == "noassertion";
}

// Returns the texts that a pattern may fit: the licence, and each licence of a list or of an SPDX expression.
std::vector<std::string> TextsOf(const std::string& licence) {
  std::vector<std::string> texts = {Plain(licence)};
  if (StatesNone(texts.front())) return {"", "none", "unknown", texts.front()};
  for (const absl::string_view part : absl::StrSplit(licence, absl::ByAnyChar("()[]/,;\"'"))) {
    std::vector<absl::string_view> words;  // words of one licence
    for (const absl::string_view word : absl::StrSplit(part, ' ', absl::SkipEmpty())) {
      const std::string lower = absl::AsciiStrToLower(word);
      if (lower != "and" && lower != "or" && lower != "with") {
        words.push_back(word);
        continue;
      }
      texts.push_back(Plain(absl::StrJoin(words, "-")));
      words.clear();
    }
    texts.push_back(Plain(absl::StrJoin(words, "-")));
  }
  std::erase(texts, "");
  return texts;
}

}  // namespace

absl::Status ValidateRefusedLicences(const std::vector<std::string>& patterns) {
  const bool valid =
      std::none_of(patterns.begin(), patterns.end(), [](const std::string& pattern) { return Plain(pattern).empty(); });
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--refuse-licence has an empty pattern; write one as in cc-by-nc*, or none for versions that state no licence");
}

absl::Status CheckLicence(const v1::Manifest& manifest, const std::vector<std::string>& patterns) {
  const std::string licence = LicenceOf(manifest.provenance());
  const std::vector<std::string> texts = TextsOf(licence);
  for (const std::string& pattern : patterns) {
    const ModelPatterns plain({Plain(pattern)});
    if (std::none_of(texts.begin(), texts.end(), [&](const std::string& text) { return plain.Fit(text); })) continue;
    const std::string stated = licence.empty() ? std::string("it states no licence")
                                               : absl::StrCat("its licence is ", absl::Utf8SafeCHexEscape(licence));
    return absl::FailedPreconditionError(absl::StrCat(manifest.model(), "/", manifest.version(), ": ", stated,
                                                      ", which this server rejects by --refuse-licence ", pattern));
  }
  return absl::OkStatus();
}

}  // namespace vitrine
