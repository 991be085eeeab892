// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AUGMENT_INPUT_H_
#define VITRINE_TRAINER_AUGMENT_INPUT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "imaging/geometry.h"
#include "imaging/image.h"
#include "trainer/sampler.h"
#include "vitrine/v1/model.pb.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// What a model learns from in place of a picture: planar [channels, size.height, size.width], normalised.
struct TrainingInput {
  Size size;
  std::vector<float> values;
};

// A picture on its way through the recipe's augmentation, in this order: size, window and mirror image (DrawSize,
// DrawView), RandAugment and colour jitter on the pixels at that size, normalisation, random erasing. What a recipe
// does not switch on draws no number behind the view's. INVALID_ARGUMENT: no input size of the model fits the picture.
// Thread-safe.
absl::StatusOr<TrainingInput> DrawInput(const Image& picture, const v1::Recipe& recipe,
                                        const v1::Preprocessing& preprocessing, CounterRandom& random);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AUGMENT_INPUT_H_
