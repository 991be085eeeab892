// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AUGMENT_VIEW_H_
#define VITRINE_TRAINER_AUGMENT_VIEW_H_

#include <vector>

#include "absl/status/statusor.h"
#include "imaging/geometry.h"
#include "imaging/image.h"
#include "imaging/resize.h"
#include "trainer/augment/picture_operations.h"
#include "trainer/sampler.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// What is drawn for one image of one epoch: a window of the picture, which may leave it, brought to a size.
struct View {
  int left = 0;  // pixels of the picture
  int top = 0;
  int width = 0;
  int height = 0;
  bool mirrored = false;
  Size size;  // of the model's input
};

// The input size of one image: drawn from the recipe's sizes, or what the resolution policy gives if there are none.
absl::StatusOr<Size> DrawSize(const v1::Recipe& recipe, const v1::Preprocessing& preprocessing, Size picture,
                              CounterRandom& random);

// A window of the aspect of `size`. Without augmentation: the largest that fits, centred.
View DrawView(const v1::Augmentation& augmentation, Size picture, Size size, CounterRandom& random);

// The mean colour of `preprocessing` in 8 bits.
Colour MeanColour(const v1::Preprocessing& preprocessing);

// The part of the picture that a view shows, in its own pixels, mirrored if the view is. Outside of the picture lies
// `outside`.
Image CutWindow(const Image& picture, const View& view, const Colour& outside);

// The picture at another size, in 8 bits.
Image Scaled(const Image& picture, Size size, v1::Interpolation interpolation,
             Rounding rounding = v1::Preprocessing::NONE);

// The model's input for a view, planar [channels, view.size.height, view.size.width], through the resize and
// normalisation that serving uses. Outside of the picture lies the mean colour of `preprocessing`.
std::vector<float> RenderView(const Image& picture, const View& view, const v1::Preprocessing& preprocessing);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AUGMENT_VIEW_H_
