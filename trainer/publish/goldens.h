// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_PUBLISH_GOLDENS_H_
#define VITRINE_TRAINER_PUBLISH_GOLDENS_H_

#include "absl/status/statusor.h"
#include "common/data/dataset.h"
#include "models/reference/model.h"
#include "models/repository/files/safetensors.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Source of a version's golden images. These images are published with the version.
enum class GoldenImages {
  kTest,       // images of the test split, unchanged
  kSynthetic,  // patterns (patterns.h) of the same size
};

// Makes goldens: inputs of every evaluation size and two encoded images, with their logits from `model`. One of the
// encoded images needs a resize. To publish the goldens, `model` must have the weights that are stored in the version.
// Before the first step, a call with the initial weights finds errors early. Returns the errors of Dataset::image,
// PlanEvaluation and RecordGolden.
absl::StatusOr<Safetensors> MakeGoldens(const v1::Recipe& recipe, const Model& model, const Dataset& test,
                                        GoldenImages images);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_PUBLISH_GOLDENS_H_
