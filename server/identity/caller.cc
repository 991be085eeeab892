// SPDX-License-Identifier: Apache-2.0
#include "server/identity/caller.h"

namespace vitrine {
namespace {

// Matches without recursion, so that even a pattern with many stars takes only O(pattern.size() * text.size()) time.
bool Matches(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

bool ModelPatterns::Fit(std::string_view model) const {
  for (const std::string& pattern : patterns_) {
    if (Matches(pattern, model)) return true;
  }
  return false;
}

}  // namespace vitrine
