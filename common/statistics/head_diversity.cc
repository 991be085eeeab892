// SPDX-License-Identifier: Apache-2.0
#include "common/statistics/head_diversity.h"

#include <cmath>

#include "absl/strings/str_format.h"

namespace vitrine {
namespace {

// Returns the mean of the values that are not NaN, or NaN if there are none.
double MeanOfNumbers(std::span<const double> values) {
  double sum = 0;
  int count = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return sum / count;
}

}  // namespace

HeadDiversity DiversityOf(std::span<const double> distances, int heads) {
  HeadDiversity found;
  for (; !distances.empty(); distances = distances.subspan(static_cast<size_t>(heads))) {
    const std::span<const double> layer = distances.first(static_cast<size_t>(heads));
    const double mean = MeanOfNumbers(layer);
    std::vector<double> squares;
    for (const double distance : layer) squares.push_back((distance - mean) * (distance - mean));
    found.means.push_back(mean);
    found.deviations.push_back(std::sqrt(MeanOfNumbers(squares)));
  }
  if (found.deviations.empty()) return found;
  const double diversity = MeanOfNumbers(std::span(found.deviations).subspan(1));
  if (!std::isnan(diversity)) found.diversity = diversity;
  return found;
}

std::string DiversityInWords(double pixels) {
  return absl::StrFormat(
      "Diversity of the heads: %.2f pixels, the mean over all layers but the first of the standard deviation over "
      "heads.",
      pixels);
}

}  // namespace vitrine
