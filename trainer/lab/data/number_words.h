// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_DATA_NUMBER_WORDS_H_
#define VITRINE_TRAINER_LAB_DATA_NUMBER_WORDS_H_

#include <string>
#include <vector>

namespace vitrine {

// Returns a number in words: for 1234, one thousand two hundred thirty four. Requires 1 <= number <= 9999.
std::vector<std::string> NumberInWords(int number);

// Returns the KV transformer's corpus: the numbers 1 to 9,999 except 8,000, in words, with "." after each number but
// the last. The corpus has 63,095 tokens, 30 of them distinct.
std::vector<std::string> NumberWords();

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_DATA_NUMBER_WORDS_H_
