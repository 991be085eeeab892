// SPDX-License-Identifier: Apache-2.0
#include "client/eval/likelihood.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/statistics/paired.h"

namespace vitrine {
namespace {

// allowed deviation of a sum of probabilities from 1; rounding of 1,000 floats gives about 1e-5
constexpr double kMostAway = 1e-3;

}  // namespace

std::optional<Likelihood> LikelihoodOf(std::span<const Guess> guesses, int32_t label, int32_t classes) {
  if (classes < 1 || label < 0 || label >= classes || guesses.size() != static_cast<size_t>(classes)) {
    return std::nullopt;
  }
  std::vector<bool> seen(guesses.size(), false);
  double sum = 0, squares = 0, right = 0;
  for (const Guess& guess : guesses) {
    const auto index = static_cast<size_t>(guess.index);
    if (index >= seen.size() || seen[index] || !(guess.probability >= 0)) return std::nullopt;
    seen[index] = true;
    const double probability = guess.probability;
    sum += probability;
    squares += probability * probability;
    if (guess.index == label) right = probability;
  }
  if (!(std::abs(sum - 1) <= kMostAway)) return std::nullopt;
  return Likelihood{.right = static_cast<float>(right), .squares = static_cast<float>(squares)};
}

double NegativeLogLikelihood(const Likelihood& likelihood) {
  return -std::log(std::max<double>(likelihood.right, std::numeric_limits<float>::min()));
}

double BrierScore(const Likelihood& likelihood) {
  return std::max(0.0, static_cast<double>(likelihood.squares) - 2 * static_cast<double>(likelihood.right) + 1);
}

MeanScore MeanOf(const std::vector<double>& values, double least, double most) {
  const MeanEstimate estimate = EstimateMean(values);
  MeanScore score{.mean = estimate.mean, .interval = estimate.interval};
  if (score.interval.has_value()) {
    *score.interval = {.low = std::max(least, score.interval->low), .high = std::min(most, score.interval->high)};
  }
  return score;
}

}  // namespace vitrine
