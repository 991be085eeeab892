// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SWEEP_WORDS_H_
#define VITRINE_TRAINER_SWEEP_WORDS_H_

#include <string>

namespace vitrine {

// Scores as text for people: fractions (top1, top5, accuracy) in percent with two decimals, others with four digits.

// Returns true if the metric is a fraction.
bool IsFraction(const std::string& metric);
// Returns a heading: "test/top1 %".
std::string HeadingOf(const std::string& metric);
// Returns "98.12" or "0.1234".
std::string ScoreInWords(const std::string& metric, double value);
// Returns "+0.31", in percentage points for fractions.
std::string DifferenceInWords(const std::string& metric, double value);
// Returns "0.5 percentage points" or "0.01".
std::string MarginInWords(const std::string& metric, double value);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_WORDS_H_
