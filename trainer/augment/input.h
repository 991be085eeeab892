// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AUGMENT_INPUT_H_
#define VITRINE_TRAINER_AUGMENT_INPUT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/imaging/geometry.h"
#include "common/imaging/image.h"
#include "trainer/sampler.h"
#include "vitrine/v1/model.pb.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// An augmented model input: planar [channels, size.height, size.width], normalised.
struct TrainingInput {
  Size size;
  std::vector<float> values;
};

// Applies the recipe's augmentation to an image, in this order: size, window and mirroring (DrawSize, DrawView),
// RandAugment and colour jitter on the pixels at that size, normalisation, random erasing. RandAugment, colour jitter
// and erasing draw no random numbers if they are off. INVALID_ARGUMENT if no input size of the model fits the image.
// Thread-safe.
absl::StatusOr<TrainingInput> DrawInput(const Image& image, const v1::Recipe& recipe,
                                        const v1::Preprocessing& preprocessing, CounterRandom& random);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AUGMENT_INPUT_H_
