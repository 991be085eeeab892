// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WATCH_LOOK_H_
#define VITRINE_TRAINER_WATCH_LOOK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "imaging/geometry.h"
#include "reference/model.h"
#include "report/html.h"

namespace vitrine {

// The kind of attention that shows best on a picture what the model looks at: of the class query, of the class token,
// or the mean over queries. Null where the model has none of them.
const AttentionAbility::Offer* SpatialAttention(const AttentionAbility& ability);

// The picture of a set, and over it the mean over heads of SpatialAttention in up to `layers` layers, spread from the
// first to the last; in the last alone where `layers` is 1. Errors as RunModel.
absl::StatusOr<std::vector<PictureCard::Picture>> LookAt(const Model& model, const Dataset& data, int64_t index,
                                                         std::optional<Size> size, int layers);

// Mean attention distances over pictures of a set.
struct Distances {
  int layers = 0;
  int heads = 0;
  std::vector<float> pixels;  // row-major, [layers, heads], of the input
  int64_t pictures = 0;
  // What a head has that looks at everything equally; none where the pictures' grids differ.
  std::optional<double> uniform;
};
// Over up to `most` pictures, those of Spread. Empty where the model has no distances.
absl::StatusOr<std::optional<Distances>> MeasureDistances(const Model& model, const Dataset& data,
                                                          std::optional<Size> size, int64_t most);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_LOOK_H_
