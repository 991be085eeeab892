// SPDX-License-Identifier: Apache-2.0
#include "trainer/augment/input.h"

#include <utility>

#include "common/imaging/preprocess.h"
#include "common/status_macros.h"
#include "trainer/augment/erasing.h"
#include "trainer/augment/rand_augment.h"
#include "trainer/augment/view.h"

namespace vitrine {
namespace {

std::vector<float> Render(const Image& image, const View& view, const v1::Augmentation& augmentation,
                          const v1::Preprocessing& preprocessing, CounterRandom& random) {
  const bool recolours = augmentation.rand_augment().operations() > 0 || augmentation.colour_jitter() > 0;
  if (!recolours) return RenderView(image, view, preprocessing);
  const Colour mean = MeanColour(preprocessing);
  Image pixels =
      Scaled(CutWindow(image, view, mean), view.size, preprocessing.interpolation(), preprocessing.rounding());
  pixels = RandAugmented(std::move(pixels), augmentation.rand_augment(), mean, random);
  if (augmentation.colour_jitter() > 0) pixels = Jittered(std::move(pixels), augmentation.colour_jitter(), random);
  const Geometry unchanged{.original = view.size, .scaled = view.size, .top = 0, .left = 0, .input = view.size};
  return Preprocess(pixels, preprocessing, unchanged);
}

}  // namespace

absl::StatusOr<TrainingInput> DrawInput(const Image& image, const v1::Recipe& recipe,
                                        const v1::Preprocessing& preprocessing, CounterRandom& random) {
  const Size whole{image.height, image.width};
  ASSIGN_OR_RETURN(const Size size, DrawSize(recipe, preprocessing, whole, random));
  const v1::Augmentation& augmentation = recipe.augmentation();
  const View view = DrawView(augmentation, whole, size, random);
  TrainingInput input{size, Render(image, view, augmentation, preprocessing, random)};
  if (augmentation.random_erasing().probability() > 0) {
    EraseAtRandom(augmentation.random_erasing(), size, input.values, random);
  }
  return input;
}

}  // namespace vitrine
