// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AUGMENT_RAND_AUGMENT_H_
#define VITRINE_TRAINER_AUGMENT_RAND_AUGMENT_H_

#include <span>
#include <string_view>

#include "imaging/image.h"
#include "trainer/augment/picture_operations.h"
#include "trainer/sampler.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// An operation that RandAugment chooses from.
struct RandOperation {
  std::string_view name;
  // The picture at a magnitude of 0 to 10, the larger the further from the original. `negative` turns the direction
  // round where there are two.
  Image (*apply)(Image picture, double magnitude, bool negative, const Colour& fill);
};

// timm's fifteen with magnitudes that increase:
//   AutoContrast, Equalize, Invert      no magnitude
//   Rotate                              up to 30 degrees
//   Posterize                           keeps 4 bits down to 1
//   Solarize                            inverts from 256 down to 0
//   SolarizeAdd                         adds up to 110 below 128
//   Color, Contrast, Brightness, Sharpness  factor 1 +- up to 0.9
//   ShearX, ShearY                      up to 0.3
//   TranslateX, TranslateY              up to 0.45 of the side
// NOTE: timm's Posterize keeps no bit at magnitude 10 exactly, a black picture, which Pillow refuses by now.
std::span<const RandOperation> RandOperations();

// RandAugment (Cubuk et al. 2020) as timm does it: `operations` draws with replacement; each acts with `probability`,
// at a magnitude drawn from N(magnitude, magnitude_deviation^2) and clamped to 0..10. Warps bring in `fill`. Draws five
// numbers an operation, whatever they decide.
Image RandAugmented(Image picture, const v1::RandAugment& settings, const Colour& fill, CounterRandom& random);

// Brightness, contrast and saturation, in random order, each by a factor between 1 - strength and 1 + strength, as
// torchvision's ColorJitter. Requires 0 <= strength <= 1.
// NOTE: timm leaves its jitter out where RandAugment is on; here a recipe that sets both gets both.
Image Jittered(Image picture, double strength, CounterRandom& random);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AUGMENT_RAND_AUGMENT_H_
