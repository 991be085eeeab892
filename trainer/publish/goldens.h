// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_PUBLISH_GOLDENS_H_
#define VITRINE_TRAINER_PUBLISH_GOLDENS_H_

#include "absl/status/statusor.h"
#include "common/data/dataset.h"
#include "models/reference/model.h"
#include "models/repository/files/safetensors.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Source of a version's golden images, which are part of the version.
enum class GoldenImages {
  kTest,       // images of the test split, unchanged
  kSynthetic,  // patterns of the same size
};

// Makes goldens: inputs of every evaluation size and two encoded images, one of which needs a resize, with the logits
// of `model`. The weights of `model` must be those that are stored. A call before the first step, with any weights,
// checks that the version can be published. Returns the errors of Dataset::image, PlanEvaluation and RecordGolden.
absl::StatusOr<Safetensors> MakeGoldens(const v1::Recipe& recipe, const Model& model, const Dataset& test,
                                        GoldenImages images);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_PUBLISH_GOLDENS_H_
