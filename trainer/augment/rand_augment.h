// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AUGMENT_RAND_AUGMENT_H_
#define VITRINE_TRAINER_AUGMENT_RAND_AUGMENT_H_

#include <span>
#include <string_view>

#include "common/imaging/image.h"
#include "trainer/augment/image_operations.h"
#include "trainer/sampler.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// An operation for RandAugment to choose.
struct RandOperation {
  std::string_view name;
  // Applies a magnitude of 0 to 10; a larger magnitude changes the image more. `negative` reverses the direction of the
  // change, if the operation has two directions.
  Image (*apply)(Image image, double magnitude, bool negative, const Colour& fill);
};

// Returns timm's fifteen operations, whose effect increases with the magnitude:
//   AutoContrast, Equalize, Invert      no magnitude
//   Rotate                              up to 30 degrees
//   Posterize                           keeps 4 to 1 bits
//   Solarize                            inverts values from 256 (none) down to 0 (all)
//   SolarizeAdd                         adds up to 110 to values below 128
//   Color, Contrast, Brightness, Sharpness  factor 1 +- up to 0.9
//   ShearX, ShearY                      up to 0.3
//   TranslateX, TranslateY              up to 0.45 of the side
// NOTE: at magnitude 10, timm's Posterize keeps no bits and gives a black image; newer versions of Pillow reject 0
// bits.
std::span<const RandOperation> RandOperations();

// Applies RandAugment (Cubuk et al. 2020) like timm: draws settings.operations operations with replacement. Applies
// each with settings.probability, at a magnitude from N(magnitude, magnitude_deviation^2) clamped to 0..10. `fill` is
// the colour of pixels that a warp takes from outside the image. Always draws five random numbers per operation.
Image RandAugmented(Image image, const v1::RandAugment& settings, const Colour& fill, CounterRandom& random);

// Changes brightness, contrast and saturation in random order, each by a factor between 1 - strength and 1 + strength,
// like torchvision's ColorJitter. Requires 0 <= strength <= 1.
// NOTE: timm disables its jitter if RandAugment is on; here a recipe can use both.
Image Jittered(Image image, double strength, CounterRandom& random);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AUGMENT_RAND_AUGMENT_H_
