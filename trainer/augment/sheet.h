// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AUGMENT_SHEET_H_
#define VITRINE_TRAINER_AUGMENT_SHEET_H_

#include <string>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "vitrine/v1/model.pb.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

struct AugmentationSheetOptions {
  int pictures = 8;  // rows, at least 1: from the dataset's epoch 0 of the recipe's seed
  int draws = 8;     // columns, at least 1, beside the picture as it is; column i is what epoch i draws
};

// What a recipe makes of pictures, to look at: a PNG whose rows are pictures and whose columns are draws, through the
// same functions as training. Every column is a batch of its own where pictures are mixed.
// INVALID_ARGUMENT: a picture that cannot be decoded or has no size that the model takes. Thread-safe.
absl::StatusOr<std::string> AugmentationSheet(const Dataset& dataset, const v1::Recipe& recipe,
                                              const v1::Preprocessing& preprocessing,
                                              const AugmentationSheetOptions& options = {});

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AUGMENT_SHEET_H_
