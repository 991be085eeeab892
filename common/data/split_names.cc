// SPDX-License-Identifier: Apache-2.0
#include "common/data/split_names.h"

#include <utility>

#include "absl/strings/match.h"

namespace vitrine {

std::optional<NamedSplit> SplitOfWord(std::string_view word) {
  constexpr std::pair<std::string_view, NamedSplit> kWords[] = {
      {"train", NamedSplit::kTrain},  {"training", NamedSplit::kTrain}, {"test", NamedSplit::kTest},
      {"testing", NamedSplit::kTest}, {"dev", NamedSplit::kTest},       {"val", NamedSplit::kVal},
      {"valid", NamedSplit::kVal},    {"validation", NamedSplit::kVal}, {"eval", NamedSplit::kVal}};
  for (const auto& [known, split] : kWords) {
    if (absl::EqualsIgnoreCase(absl::string_view(word.data(), word.size()),
                               absl::string_view(known.data(), known.size()))) {
      return split;
    }
  }
  return std::nullopt;
}

}  // namespace vitrine
