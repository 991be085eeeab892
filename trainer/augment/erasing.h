// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AUGMENT_ERASING_H_
#define VITRINE_TRAINER_AUGMENT_ERASING_H_

#include <span>

#include "common/imaging/geometry.h"
#include "trainer/sampler.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Applies random erasing (Zhong et al. 2020) like timm: with probability settings.probability, replaces a rectangle of
// values by samples from N(0, 1). The rectangle's area and the logarithm of its aspect ratio are uniform; the ratio is
// 0.3 to 1 / 0.3. Draws up to ten rectangles until height and width of one are below the image's; otherwise erases
// nothing. `values` is a normalised input [channels, size.height, size.width].
void EraseAtRandom(const v1::RandomErasing& settings, Size size, std::span<float> values, CounterRandom& random);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AUGMENT_ERASING_H_
