// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_LIKELIHOOD_H_
#define VITRINE_CLIENT_EVAL_LIKELIHOOD_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "client/eval/prediction.h"
#include "common/statistics/interval.h"

namespace vitrine {

// Maximum number of classes for which every probability is requested. For each image, the journal stores the
// best guesses, and a Likelihood instead of all probabilities. An answer with 1,000 classes has about 30 KB, and the
// server needs 0.2 ms to make it.
inline constexpr int kMostClassesRequested = 1000;

// Returns the summary of the probabilities in `guesses`, which must contain all classes of the model. nullopt: a class
// is missing or repeated, or the probabilities do not add up to 1; a score would then be meaningless.
std::optional<Likelihood> LikelihoodOf(std::span<const Guess> guesses, int32_t label, int32_t classes);

// Returns the negative natural logarithm of the right class's probability. A probability below the smallest normal
// float (1.2e-38) counts as that float, so the result is at most 87.3.
double NegativeLogLikelihood(const Likelihood& likelihood);

// Returns the sum over all classes of (probability - t)^2, where t is 1 for the right class and else 0 (Brier 1950,
// equation 2). The result is between 0 and 2.
double BrierScore(const Likelihood& likelihood);

// A mean over images, with its 95 % confidence interval by Student's t. The interval is clamped to `least` and `most`,
// and is nullopt for fewer than two values.
struct MeanScore {
  double mean = 0;
  std::optional<Interval> interval = {};
};
// Requires at least one value.
MeanScore MeanOf(const std::vector<double>& values, double least, double most);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_LIKELIHOOD_H_
