// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_DISTANCE_H_
#define VITRINE_CLIENT_EVAL_DISTANCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/eval/look.h"

namespace vitrine {

// How far heads look, as means over pictures (Dosovitskiy et al. 2021, figure 7): the distance between query and key,
// weighted by attention.
struct AttentionDistances {
  std::string model = {};
  int64_t version = 0;
  int layers = 0;
  int heads = 0;
  std::vector<double> pixels = {};     // of the input; row-major, [layers, heads]
  std::vector<double> deviation = {};  // standard deviation over the pictures, likewise
  std::vector<double> patches = {};    // in sides of a cell, likewise
  int64_t pictures = 0;                // that were averaged
  int64_t failed = 0;                  // that were asked for and not answered
  std::string fault = {};              // why the first of those was not
  bool magnitudes = false;             // attention is signed and weighs by its magnitude
  // What a head has that looks at everything equally, and at the 3x3 cells around; none where the grids differ.
  std::optional<double> uniform = {};
  std::optional<double> window = {};
};

// Asks about up to `most` of `indices`, those of EvenlySpread. INVALID_ARGUMENT: the model has no distances.
// UNAVAILABLE: no picture was answered. CANCELLED: `source.stop`.
absl::StatusOr<AttentionDistances> MeasureDistances(const PictureSource& source, const std::vector<int64_t>& indices,
                                                    int64_t most);

// attention_distance.json of an --out folder.
std::string DistancesAsJson(const AttentionDistances& distances);
// The plot as markup for an HtmlPage.
absl::StatusOr<std::string> DrawDistances(const AttentionDistances& distances);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_DISTANCE_H_
