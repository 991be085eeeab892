// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AUGMENT_MIXING_H_
#define VITRINE_TRAINER_AUGMENT_MIXING_H_

#include "trainer/sampler.h"
#include "trainer/task.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Returns true if the settings mix images.
bool Mixes(const v1::Mixing& mixing);

// Applies mixup (Zhang et al. 2018) or CutMix (Yun et al. 2019) to a batch. The choice between the two and lambda ~
// Beta(alpha, alpha) are drawn once per batch. In each run of neighbouring images of equal size, the first image is
// mixed with the last, the second with the second last, and so on. If the number of images in the run is odd, the
// middle image is unchanged.
//   mixup   x_i = lambda x_i + (1 - lambda) x_j
//   CutMix  replaces a rectangle of x_i by the same rectangle of x_j. Its sides are sqrt(1 - lambda) times the image's,
//           its centre is uniform, and it is clipped to the image. lambda becomes the share of x_i that is left.
// Targets are set for every batch, mixed or not:
//   t_i = lambda y_i + (1 - lambda) y_j; y is label_smoothing / classes, plus 1 - label_smoothing at the label.
// Requires contiguous fp32 images on the CPU that share no memory, and labels [samples] on the CPU, each below
// `classes`.
void MixBatch(const v1::Mixing& mixing, double label_smoothing, int classes, CounterRandom& random,
              TrainingBatch& batch);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AUGMENT_MIXING_H_
