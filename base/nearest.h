// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_NEAREST_H_
#define VITRINE_BASE_NEAREST_H_

#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// Number of characters to insert, to leave out, to replace or to exchange with their neighbour between two words.
int WordDistance(std::string_view a, std::string_view b);

// The word that was probably meant by `typed`: the nearest that differs in at most a third of its characters, whatever
// the case, or the only one that begins with it. Empty: none.
std::string NearestWord(std::string_view typed, const std::vector<std::string>& words);

}  // namespace vitrine

#endif  // VITRINE_BASE_NEAREST_H_
