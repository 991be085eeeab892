// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_DISTANCE_FILES_H_
#define VITRINE_CLIENT_DISTANCE_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "report/distance_plot.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// The plot of one picture's attention distances, an SVG file, with lines for attention that is equal over the whole
// grid and over a window of 3x3 cells. `note` says whose they are; `magnitudes` that they weigh by the magnitude of
// signed attention, which the title then tells.
absl::StatusOr<std::string> DrawDistance(const v1::AttentionMap& map, const v1::AttentionRequest& asked,
                                         const v1::ClassifyResponse& answer, const std::string& note, bool magnitudes);

// The mean over pictures, which is what papers plot.
class MeanDistance {
 public:
  explicit MeanDistance(bool magnitudes = false) : magnitudes_(magnitudes) {}

  // Takes the distances of an answer, if it has any. INVALID_ARGUMENT: its shape is not that of those before.
  absl::Status Add(const v1::ClassifyRequest& asked, const v1::ClassifyResponse& answer);
  // Writes "<folder>/distance.svg" if there were two pictures or more, and returns its path, else nothing.
  absl::StatusOr<std::string> Write(const std::string& folder) const;

 private:
  bool magnitudes_;
  v1::AttentionMap first_;
  v1::AttentionRequest asked_;
  v1::ClassifyResponse answer_;  // the first; its grid only if all have it
  bool same_grid_ = true;
  std::vector<double> sums_;
  int pictures_ = 0;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_DISTANCE_FILES_H_
