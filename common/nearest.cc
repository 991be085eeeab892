// SPDX-License-Identifier: Apache-2.0
#include "common/nearest.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace vitrine {
namespace {

// Maximum length of a compared word. Longer words are not typed by hand, and comparing them would take time.
constexpr size_t kLongest = 256;
constexpr size_t kShortestBeginning = 3;

}  // namespace

int WordDistance(std::string_view a, std::string_view b) {
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string NearestWord(std::string_view typed, const std::vector<std::string>& words) {
  if (typed.empty() || typed.size() > kLongest) return "";
  const std::string lower = absl::AsciiStrToLower(absl::string_view(typed.data(), typed.size()));
  const std::string* nearest = nullptr;
  const std::string* longer = nullptr;
  int least = 0, beginning = 0;
  for (const std::string& word : words) {
    if (word.size() > kLongest) continue;
    const std::string candidate = absl::AsciiStrToLower(word);
    const int distance = WordDistance(lower, candidate);
    const int most = std::max(1, static_cast<int>(std::max(lower.size(), candidate.size()) / 3));
    const int shorter = static_cast<int>(std::min(lower.size(), candidate.size()));
    if (distance <= most && distance < shorter && (nearest == nullptr || distance < least)) {
      nearest = &word;
      least = distance;
    }
    if (lower.size() < kShortestBeginning || !absl::StartsWith(candidate, lower)) continue;
    longer = &word;
    ++beginning;
  }
  if (nearest == nullptr && beginning == 1) nearest = longer;
  return nearest == nullptr ? "" : *nearest;
}

}  // namespace vitrine
