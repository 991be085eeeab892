// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_DISTANCE_H_
#define VITRINE_CLIENT_EVAL_DISTANCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/eval/page/look.h"

namespace vitrine {

// Attention distances of a model's heads, each averaged over images (Dosovitskiy et al. 2021, figure 7). The attention
// distance of a head in one image is the distance between a query and the keys, averaged with the attention as weights,
// then averaged over all queries.
struct AttentionDistances {
  std::string model = {};
  int64_t version = 0;
  int layers = 0;
  int heads = 0;
  // Distance in pixels of the input; row-major, [layers, heads]. NaN if the head has none in any image.
  std::vector<double> pixels = {};
  std::vector<double> deviation = {};  // standard deviation over the images, same shape
  std::vector<double> patches = {};    // distance divided by a grid cell's side, same shape
  // Number of images in which no query attends to a cell, same shape. The head then has no distance, and the image is
  // left out of its mean.
  std::vector<int64_t> excluded = {};
  int64_t images = 0;       // number of averaged images
  int64_t failed = 0;       // number of requested images without an answer
  std::string fault = {};   // error of the first failed image
  bool magnitudes = false;  // true: attention has signs, so its magnitude is the weight
  // Attention distances in pixels, for comparison, of a head that attends equally to all cells of the grid (`uniform`)
  // or to the 3x3 cells around the query (`window`); nullopt if the images' grids differ.
  std::optional<double> uniform = {};
  std::optional<double> window = {};
};

// Measures the attention distances on up to `most` of the images `indices`, chosen by EvenlySpread. INVALID_ARGUMENT:
// the model has no distances. UNAVAILABLE: no image was answered, or the server was lost. CANCELLED: `source.stop`
// became true.
absl::StatusOr<AttentionDistances> MeasureDistances(const ImageSource& source, const std::vector<int64_t>& indices,
                                                    int64_t most);

// Returns the content of attention_distance.json in an --out folder.
std::string DistancesAsJson(const AttentionDistances& distances);
// Returns the plot as markup for an HtmlPage.
absl::StatusOr<std::string> DrawDistances(const AttentionDistances& distances);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_DISTANCE_H_
