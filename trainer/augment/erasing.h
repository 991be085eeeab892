// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AUGMENT_ERASING_H_
#define VITRINE_TRAINER_AUGMENT_ERASING_H_

#include <span>

#include "common/imaging/geometry.h"
#include "trainer/sampler.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Random erasing (Zhong et al. 2020), like timm's: with the given probability, replaces the values of a rectangle by
// N(0, 1). The area of the rectangle is uniform. The logarithm of its aspect ratio is uniform, with ratios from 0.3 to
// 1 / 0.3. Redraws a rectangle that does not fit, at most ten times. `values` is a normalised input [channels,
// size.height, size.width].
void EraseAtRandom(const v1::RandomErasing& settings, Size size, std::span<float> values, CounterRandom& random);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AUGMENT_ERASING_H_
