// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WATCH_REPORT_LOOK_H_
#define VITRINE_TRAINER_WATCH_REPORT_LOOK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/charts/html/html.h"
#include "common/data/dataset.h"
#include "common/imaging/geometry.h"
#include "models/reference/model.h"

namespace vitrine {

// Returns the attention kind that best shows where the model looks in an image: attention of the class query, attention
// of the class token, or the mean over queries. Null if the model has none of these three kinds.
const AttentionAbility::Offer* SpatialAttention(const AttentionAbility& ability);

// Returns the image, then one copy of the image for each shown layer, with the layer's SpatialAttention (mean over
// heads) drawn over it. Shows up to `layers` layers, evenly spread from first to last; if `layers` is 1, only the last
// layer. Returns the errors of RunModel.
absl::StatusOr<std::vector<ImageCard::Tile>> LookAt(const Model& model, const Dataset& data, int64_t index,
                                                    std::optional<Size> size, int layers);

// Attention distances of a model's heads, as means over images of a set.
struct Distances {
  int layers = 0;
  int heads = 0;
  std::vector<double> pixels;  // row-major, [layers, heads], in input pixels
  int64_t images = 0;
  // Distance that a head with uniform attention would have; nullopt if the images' grids differ.
  std::optional<double> uniform;
};
// Measures the distances over up to `most` images, selected by Spread. Nullopt: the model has no attention distances,
// or no image can be decoded.
absl::StatusOr<std::optional<Distances>> MeasureDistances(const Model& model, const Dataset& data,
                                                          std::optional<Size> size, int64_t most);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_REPORT_LOOK_H_
