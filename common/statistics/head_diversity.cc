// SPDX-License-Identifier: Apache-2.0
#include "common/statistics/head_diversity.h"

#include <cmath>
#include <numeric>

#include "absl/strings/str_format.h"

namespace vitrine {

HeadDiversity DiversityOf(std::span<const double> distances, int heads) {
  HeadDiversity found;
  for (; !distances.empty(); distances = distances.subspan(static_cast<size_t>(heads))) {
    const std::span<const double> layer = distances.first(static_cast<size_t>(heads));
    const double mean = std::accumulate(layer.begin(), layer.end(), 0.0) / heads;
    double squares = 0;
    for (const double distance : layer) squares += (distance - mean) * (distance - mean);
    found.means.push_back(mean);
    found.deviations.push_back(std::sqrt(squares / heads));
  }
  if (found.deviations.size() > 1) {
    found.diversity = std::accumulate(found.deviations.begin() + 1, found.deviations.end(), 0.0) /
                      static_cast<double>(found.deviations.size() - 1);
  }
  return found;
}

std::string DiversityInWords(double pixels) {
  return absl::StrFormat(
      "Diversity of the heads: %.2f pixels, the mean over all layers but the first of the standard deviation over "
      "heads.",
      pixels);
}

}  // namespace vitrine
