// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_GOLDENS_H_
#define VITRINE_TRAINER_GOLDENS_H_

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "reference/model.h"
#include "repository/safetensors.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// What the goldens of a version are made of, and hence contain.
enum class GoldenPictures {
  kTest,       // pictures of the test split, as they are
  kSynthetic,  // patterns of their size
};

// Inputs of every evaluation size and two encoded pictures, one of which has to be resized, with the logits that
// `model` gives: its weights as they are stored. Called with any weights before the first step it shows whether the
// version can be published. Errors as Dataset::image, PlanEvaluation and RecordGolden.
absl::StatusOr<Safetensors> MakeGoldens(const v1::Recipe& recipe, const Model& model, const Dataset& test,
                                        GoldenPictures pictures);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_GOLDENS_H_
