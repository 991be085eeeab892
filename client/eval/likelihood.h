// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_LIKELIHOOD_H_
#define VITRINE_CLIENT_EVAL_LIKELIHOOD_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "client/eval/prediction.h"
#include "report/proportion.h"

namespace vitrine {

// Up to so many classes the server is asked for the probability of every one, of which the journal keeps two numbers.
// An answer grows with the classes: of 1,000 it is some 30 KB, and 0.2 ms of the server's time.
inline constexpr int kMostClassesAsked = 1000;

// What proper scores need of `guesses`, which are all of the model's classes: nullopt where one is missing or there
// twice, or where their probabilities do not add up to 1, so that a score of them would mean nothing.
std::optional<Likelihood> LikelihoodOf(std::span<const Guess> guesses, int32_t label, int32_t classes);

// Natural logarithm. A probability below the smallest normal float (1.2e-38) counts as that, at 87.3.
double NegativeLogLikelihood(const Likelihood& likelihood);

// The sum over all classes of (probability - right)^2, 0 to 2 (Brier 1950, equation 2).
double BrierScore(const Likelihood& likelihood);

// A mean over pictures, and where the expectation lies with 95 % confidence: mean +- 1.96 standard errors, within
// `least` and `most`. nullopt for the interval of less than two values.
struct MeanScore {
  double mean = 0;
  std::optional<Interval> interval = {};
};
// Requires a value.
MeanScore MeanOf(const std::vector<double>& values, double least, double most);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_LIKELIHOOD_H_
