// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_SPLIT_NAMES_H_
#define VITRINE_COMMON_DATA_SPLIT_NAMES_H_

#include <optional>
#include <string>
#include <string_view>

namespace vitrine {

// Split that a word names. If a set has no kTest, its kVal is the test split.
enum class NamedSplit { kTrain, kTest, kVal };

// Words that name a split, for messages.
inline constexpr char kSplitWords[] = "train, training, test, testing, dev, val, valid, validation or eval";

// Returns the split that `word` names, in upper or lower case (kSplitWords).
std::optional<NamedSplit> SplitOfWord(std::string_view word);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_SPLIT_NAMES_H_
