// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_STATISTICS_HEAD_DIVERSITY_H_
#define VITRINE_COMMON_STATISTICS_HEAD_DIVERSITY_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vitrine {

// Spread of the attention distances of a model's heads.
struct HeadDiversity {
  std::vector<double> means;       // mean of each layer's heads; NaN if no head of the layer has a distance
  std::vector<double> deviations;  // standard deviation of each layer's heads (divisor: number of heads), or NaN
  // Mean of the deviations of all layers but the first. nullopt if these layers have no deviation.
  std::optional<double> diversity;
};

// Computes the spread from the attention distances of a model's heads, [layers, heads], row-major, in any unit.
// Requires at least one head. NaN means that a head has no distance; these heads are left out. The definition is ours:
// the EIT paper (docs/research/claims/001.md) calls heads diverse and plots their distances (figures 2, 5 to 7), but
// defines no number.
HeadDiversity DiversityOf(std::span<const double> distances, int heads);

// Returns a sentence for reports that states the diversity, given in pixels.
std::string DiversityInWords(double pixels);

}  // namespace vitrine

#endif  // VITRINE_COMMON_STATISTICS_HEAD_DIVERSITY_H_
