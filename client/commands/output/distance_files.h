// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_OUTPUT_DISTANCE_FILES_H_
#define VITRINE_CLIENT_COMMANDS_OUTPUT_DISTANCE_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/charts/distance_plot.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Returns an SVG plot of one image's attention distances. Two lines show the distances of uniform attention over the
// whole grid and over a window of 3x3 cells. `note` names the image. If `magnitudes` is true, the title says that
// signed attention is weighted by magnitude.
absl::StatusOr<std::string> DrawDistance(const v1::AttentionMap& map, const v1::AttentionRequest& asked,
                                         const v1::ClassifyResponse& answer, const std::string& note, bool magnitudes);

// Mean attention distance over images, as plotted in papers.
class MeanDistance {
 public:
  explicit MeanDistance(bool magnitudes = false) : magnitudes_(magnitudes) {}

  // Adds the distances of an answer, if it has any. INVALID_ARGUMENT: the answer has another number of layers or heads
  // than the first answer.
  absl::Status Add(const v1::ClassifyRequest& asked, const v1::ClassifyResponse& answer);
  // Writes "<folder>/distance.svg" and returns its path. Writes nothing and returns "" for fewer than two images.
  absl::StatusOr<std::string> Write(const std::string& folder) const;

 private:
  bool magnitudes_;
  v1::AttentionMap first_;
  v1::AttentionRequest asked_;
  v1::ClassifyResponse answer_;  // model version and grid of the first answer
  bool same_grid_ = true;
  std::vector<double> sums_;
  std::vector<int> counts_;  // number of images in which each head has a distance
  int images_ = 0;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_OUTPUT_DISTANCE_FILES_H_
