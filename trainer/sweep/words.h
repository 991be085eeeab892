// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SWEEP_WORDS_H_
#define VITRINE_TRAINER_SWEEP_WORDS_H_

#include <string>

namespace vitrine {

// Scores as text for people. Fractions (top1, top5, accuracy) are in percent with two decimals; other scores have four
// digits.

// Returns true if the metric is a fraction.
bool IsFraction(const std::string& metric);
// Returns the heading of a metric's column: "test/top1 %".
std::string HeadingOf(const std::string& metric);
// Formats a score: "98.12" for a fraction, otherwise "0.1234".
std::string ScoreInWords(const std::string& metric, double value);
// Formats a difference, in percentage points for fractions: "+0.31".
std::string DifferenceInWords(const std::string& metric, double value);
// Formats a margin: "0.5 percentage points" for a fraction, otherwise "0.01".
std::string MarginInWords(const std::string& metric, double value);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_WORDS_H_
