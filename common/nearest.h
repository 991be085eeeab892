// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_NEAREST_H_
#define VITRINE_COMMON_NEAREST_H_

#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// Returns the least number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
int WordDistance(std::string_view a, std::string_view b);

// Returns the element of `words` that `typed` probably means, ignoring case. This is the word with the least
// WordDistance to `typed`. The distance must be below the length of the shorter of the two words. It must also be 1, or
// at most a third of the length of the longer word. If no word meets these conditions, returns the only word that
// starts with `typed`, if `typed` has at least three characters; else "".
std::string NearestWord(std::string_view typed, const std::vector<std::string>& words);

}  // namespace vitrine

#endif  // VITRINE_COMMON_NEAREST_H_
