// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AUGMENT_VIEW_H_
#define VITRINE_TRAINER_AUGMENT_VIEW_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/imaging/geometry.h"
#include "common/imaging/image.h"
#include "common/imaging/resize.h"
#include "trainer/augment/image_operations.h"
#include "trainer/sampler.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// A random view of an image: a window, which may extend beyond the image, and its output size.
struct View {
  int left = 0;  // pixels of the image
  int top = 0;
  int width = 0;
  int height = 0;
  bool mirrored = false;
  Size size;  // input size of the model
};

// Returns the input size for an image: a random size of the recipe or, if the recipe has no sizes, the size that the
// resolution policy gives.
absl::StatusOr<Size> DrawSize(const v1::Recipe& recipe, const v1::Preprocessing& preprocessing, Size image,
                              CounterRandom& random);

// Draws a window with the aspect ratio of `size`, randomly stretched. Without augmentation, returns the largest window
// with that aspect ratio, at the image's centre.
View DrawView(const v1::Augmentation& augmentation, Size image, Size size, CounterRandom& random);

// Returns the mean colour of `preprocessing` in 8 bits.
Colour MeanColour(const v1::Preprocessing& preprocessing);

// Returns the window of a view at the image's resolution, mirrored if `view.mirrored`. Pixels outside the image get
// colour `outside`.
Image CutWindow(const Image& image, const View& view, const Colour& outside);

// Returns the image resized to `size`, rounded to 8 bits.
Image Scaled(const Image& source, Size size, v1::Interpolation interpolation,
             Rounding rounding = v1::Preprocessing::NONE);

// Returns the model's input for a view, planar [channels, view.size.height, view.size.width], with the resize and
// normalisation of serving. Pixels outside the image get the mean colour of `preprocessing`.
std::vector<float> RenderView(const Image& image, const View& view, const v1::Preprocessing& preprocessing);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AUGMENT_VIEW_H_
