// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AUGMENT_SHEET_H_
#define VITRINE_TRAINER_AUGMENT_SHEET_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"
#include "vitrine/v1/model.pb.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

struct AugmentationSheetOptions {
  int images = 8;  // rows, at least 1: the first images of epoch 0 with the recipe's seed
  int draws = 8;   // columns, at least 1, in addition to the original; column i is drawn in epoch i
};

// Returns a PNG that shows a recipe's augmentation. Rows are images. Columns are random draws, made by the functions
// that training uses. If the recipe mixes images, the images of a column are mixed as one batch. INVALID_ARGUMENT if an
// image cannot be decoded or has no size that the model accepts. Thread-safe.
absl::StatusOr<std::string> AugmentationSheet(const Dataset& dataset, const v1::Recipe& recipe,
                                              const v1::Preprocessing& preprocessing,
                                              const AugmentationSheetOptions& options = {});

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AUGMENT_SHEET_H_
