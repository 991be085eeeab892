// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AUGMENT_ERASING_H_
#define VITRINE_TRAINER_AUGMENT_ERASING_H_

#include <span>

#include "imaging/geometry.h"
#include "trainer/sampler.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Random erasing (Zhong et al. 2020) as timm does it: with the setting's probability a rectangle, its area drawn
// uniformly, its aspect between 0.3 and 1/0.3 (uniform in the logarithm), becomes N(0, 1), every value by itself. A
// rectangle that does not fit is drawn again, ten times at most. `values` is a normalised input
// [channels, size.height, size.width].
void EraseAtRandom(const v1::RandomErasing& settings, Size size, std::span<float> values, CounterRandom& random);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AUGMENT_ERASING_H_
