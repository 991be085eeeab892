// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/feature_words.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/wire/http/shown.h"

namespace vitrine {
namespace {

// As client/names.cc has them, which a test compares.
constexpr std::pair<v1::FeatureKind, const char*> kFeatureWords[] = {
    {v1::CLASS_TOKEN, "class"},
    {v1::MEAN_TOKEN, "mean"},
    {v1::PATCH_TOKENS, "patches"},
};

}  // namespace

std::string FeatureWord(v1::FeatureKind kind) {
  for (const auto& [each, name] : kFeatureWords) {
    if (each == kind) return name;
  }
  return absl::AsciiStrToLower(v1::FeatureKind_Name(kind));
}

absl::StatusOr<std::vector<v1::FeatureKind>> ParseFeatureWords(std::string_view text) {
  std::vector<v1::FeatureKind> kinds;
  const std::vector<std::string> words = absl::StrSplit(absl::string_view(text.data(), text.size()), ',');
  for (const std::string& word : words) {
    const auto* const row = std::find_if(std::begin(kFeatureWords), std::end(kFeatureWords),
                                         [&](const auto& each) { return word == each.second; });
    if (row == std::end(kFeatureWords)) {
      return absl::InvalidArgumentError(absl::StrCat("parameter features names \"", Shown(word),
                                                     "\", which is not known; there are class, mean and patches, with "
                                                     "commas between them"));
    }
    if (std::find(kinds.begin(), kinds.end(), row->first) != kinds.end()) {
      return absl::InvalidArgumentError(absl::StrCat("parameter features names ", word, " twice; name it once"));
    }
    kinds.push_back(row->first);
  }
  return kinds;
}

}  // namespace vitrine
